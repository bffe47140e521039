#include "operators/operator.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace femcg::operators {

template <std::floating_point T>
void Operator<T>::apply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  for (const Vector<T>* vector : {&x, static_cast<const Vector<T>*>(&y)}) {
    if (vector->size() != size_)
      throw std::invalid_argument(
          fmt::format("an operator of {} rows cannot be applied to a vector of {} entries", size_, vector->size()));
    if (size_ > 0 && vector->device() != device_)
      throw std::invalid_argument("an operator and the vectors that it is applied to must live on one device");
  }
  if (size_ > 0 && x.data() == y.data())
    throw std::invalid_argument("an operator cannot write its result over the vector that it is applied to");
  if (energy != nullptr && energy->device() != device_)
    throw std::invalid_argument("an operator and the scalar for its energy must live on one device");
  multiply(x, y, energy);
}

template <std::floating_point T>
const Vector<std::int32_t>& Operator<T>::ordering() const {
  static const Vector<std::int32_t> natural;
  return natural;
}

template class Operator<double>;
template class Operator<float>;

}  // namespace femcg::operators

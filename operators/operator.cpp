#include "operators/operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace femcg::operators {

void check_operands(std::string_view who, std::int64_t rows, Device device, const Operand& x, const Operand& y) {
  for (const std::int64_t there : {x.rows, y.rows})
    if (there != rows)
      throw std::invalid_argument(
          fmt::format("{} of {} rows cannot be applied to a vector of {} entries", who, rows, there));
  if (rows > 0 && (x.device != device || y.device != device))
    throw std::invalid_argument(fmt::format("{} and the vectors that it is applied to must live on one device", who));
  if (rows > 0 && x.data == y.data)
    throw std::invalid_argument(fmt::format("{} cannot write its result over the vector that it is applied to", who));
}

template <std::floating_point T>
void Operator<T>::apply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
  check_operands("an operator", size_, device_, x, y);
  if (energy != nullptr && energy->device() != device_)
    throw std::invalid_argument("an operator and the scalar for its energy must live on one device");
  multiply(x, y, energy);
}

template <std::floating_point T>
void Operator<T>::apply(const MultiVector<T>& x, MultiVector<T>& y, MultiScalar* energies) const {
  check_operands("an operator", size_, device_, x, y);
  if (x.stride() != y.stride() || (energies != nullptr && energies->stride() != x.stride()))
    throw std::invalid_argument(
        "what an operator is applied to, its result and its energies must have as many columns");
  if (energies != nullptr && energies->device() != device_)
    throw std::invalid_argument("an operator and the scalars for its energies must live on one device");
  if (x.stride() > 1) {
    multiply_multi_vector(x, y, energies != nullptr ? energies->data() : nullptr);
  } else if (energies == nullptr) {
    multiply(x.entries(), y.entries(), nullptr);
  } else {
    Scalar energy = energies->of(0);
    multiply(x.entries(), y.entries(), &energy);
  }
}

template <std::floating_point T>
void Operator<T>::multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const {
  while (turn_x_.size() < columns_in_a_pass) {
    turn_x_.emplace_back(size_, device_);
    turn_y_.emplace_back(size_, device_);
  }
  for (int first = 0; first < x.count(); first += columns_in_a_pass) {
    const auto count = static_cast<std::size_t>(std::min(columns_in_a_pass, x.count() - first));
    get_columns(x, first, std::span(turn_x_).first(count));
    for (std::size_t j = 0; j < count; ++j) {
      Scalar energy(energies + first + j, device_);
      multiply(turn_x_[j], turn_y_[j], energies != nullptr ? &energy : nullptr);
    }
    set_columns(std::span<const Vector<T>>(turn_y_).first(count), first, y);
  }
}

template <std::floating_point T>
const Vector<std::int32_t>& Operator<T>::ordering() const {
  static const Vector<std::int32_t> natural;
  return natural;
}

template class Operator<double>;
template class Operator<float>;

}  // namespace femcg::operators

#include "operators/backend/vector.hpp"

#include <stdexcept>

namespace femcg::operators {

template <class T>
void fill(Vector<T>& vector, T value) {
  if (vector.device() != Device::host) {
    Vector<T> filled(vector.size());
    fill(filled, value);
    copy(filled, vector);
    return;
  }
  T* data = vector.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < vector.size(); ++i) data[i] = value;
}

template <class To, class From>
void copy(const Vector<From>& from, Vector<To>& to) {
  if (from.size() != to.size()) throw std::invalid_argument("a copy needs vectors of one size");
  if (from.device() != Device::host || to.device() != Device::host) {
    if constexpr (std::is_same_v<To, From>)
      copy_bytes(from.data(), from.device(), to.data(), to.device(), from.bytes());
    else
      throw std::invalid_argument("a copy from or to a GPU does not change the precision");
    return;
  }
  const From* source = from.data();
  To* target = to.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < from.size(); ++i) target[i] = static_cast<To>(source[i]);
}

template void fill(Vector<double>&, double);
template void fill(Vector<float>&, float);
template void fill(Vector<std::int32_t>&, std::int32_t);
template void fill(Vector<std::int64_t>&, std::int64_t);
template void copy(const Vector<double>&, Vector<double>&);
template void copy(const Vector<double>&, Vector<float>&);
template void copy(const Vector<float>&, Vector<double>&);
template void copy(const Vector<float>&, Vector<float>&);

}  // namespace femcg::operators

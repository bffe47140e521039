#include "operators/backend/vector.hpp"

#include <algorithm>
#include <stdexcept>

#include "operators/backend/threads/parallel_rows.hpp"

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
  for_row_blocks(vector.size(), EqualRows{},
                 [=](std::int64_t first, std::int64_t last) { std::fill(data + first, data + last, value); });
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
  for_row_blocks(from.size(), EqualRows{}, [=](std::int64_t first, std::int64_t last) {
    std::transform(source + first, source + last, target + first, [](From entry) { return static_cast<To>(entry); });
  });
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

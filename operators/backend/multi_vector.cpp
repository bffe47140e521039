#include "operators/backend/multi_vector.hpp"

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Calls body(i, places[i]) for all rows, in parallel.
template <class Body>
void for_places(std::int64_t rows, const Vector<std::int32_t>& places, const Body& body) {
  const std::int32_t* at = places.size() > 0 ? places.data() : nullptr;
  for_each_row(rows, [&](std::int64_t i) { body(i, at != nullptr ? at[i] : i); });
}

}  // namespace

template <std::floating_point T>
void set_column(const Vector<T>& from, const Vector<std::int32_t>& places, int c, MultiVector<T>& to) {
  assert(from.size() == to.rows() && from.device() == to.device() && c < to.stride());
  if (to.device() == Device::cuda) return cuda_set_column(from, places, c, to);
  for_places(to.rows(), places,
             [&](std::int64_t i, std::int64_t place) { to.data()[i * to.stride() + c] = from[place]; });
}

template <std::floating_point T>
void get_column(const MultiVector<T>& from, int c, const Vector<std::int32_t>& places, Vector<T>& to) {
  assert(to.size() == from.rows() && from.device() == to.device() && c < from.stride());
  if (from.device() == Device::cuda) return cuda_get_column(from, c, places, to);
  for_places(from.rows(), places,
             [&](std::int64_t i, std::int64_t place) { to[place] = from.data()[i * from.stride() + c]; });
}

template <std::floating_point T>
void get_columns(const MultiVector<T>& from, int first, std::span<Vector<T>> to) {
  assert(std::ssize(to) <= columns_in_a_pass && first + std::ssize(to) <= from.stride());
  if (from.device() == Device::cuda) return cuda_get_columns(from, first, to);
  for_each_row(from.rows(), [&](std::int64_t i) {
    const T* row = from.data() + i * from.stride() + first;
    for (Vector<T>& column : to) column[i] = *row++;
  });
}

template <std::floating_point T>
void set_columns(std::span<const Vector<T>> from, int first, MultiVector<T>& to) {
  assert(std::ssize(from) <= columns_in_a_pass && first + std::ssize(from) <= to.stride());
  if (to.device() == Device::cuda) return cuda_set_columns(from, first, to);
  for_each_row(to.rows(), [&](std::int64_t i) {
    T* row = to.data() + i * to.stride() + first;
    for (const Vector<T>& column : from) *row++ = column[i];
  });
}

template void get_columns(const MultiVector<double>&, int, std::span<Vector<double>>);
template void get_columns(const MultiVector<float>&, int, std::span<Vector<float>>);
template void set_columns(std::span<const Vector<double>>, int, MultiVector<double>&);
template void set_columns(std::span<const Vector<float>>, int, MultiVector<float>&);
template void set_column(const Vector<double>&, const Vector<std::int32_t>&, int, MultiVector<double>&);
template void set_column(const Vector<float>&, const Vector<std::int32_t>&, int, MultiVector<float>&);
template void get_column(const MultiVector<double>&, int, const Vector<std::int32_t>&, Vector<double>&);
template void get_column(const MultiVector<float>&, int, const Vector<std::int32_t>&, Vector<float>&);

}  // namespace femcg::operators

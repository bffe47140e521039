#include "operators/backend/permutation.hpp"

#include <cassert>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Calls work(index in the permuted vector, index in the other vector) for all values, in parallel.
template <class Work>
void for_permuted(std::int64_t numbers, const Vector<std::int32_t>& places, int stride, const Work& work) {
  if (places.size() == 0) return for_each_row(numbers, [&](std::int64_t k) { work(k, k); });
  for_each_row(places.size(), [&](std::int64_t i) {
    for (int c = 0; c < stride; ++c) work(i * stride + c, std::int64_t{places[i]} * stride + c);
  });
}

}  // namespace

template <std::floating_point From, std::floating_point To>
void gather_rows(const Vector<From>& from, const Vector<std::int32_t>& places, int stride, Vector<To>& to) {
  assert(from.size() == to.size() && from.device() == to.device());
  if (to.device() == Device::cuda) return cuda_gather_rows(from.data(), places, to.size() / stride, stride, to.data());
  for_permuted(to.size(), places, stride, [&](std::int64_t i, std::int64_t j) { to[i] = static_cast<To>(from[j]); });
}

template <std::floating_point From, std::floating_point To>
void scatter_rows(const Vector<From>& from, const Vector<std::int32_t>& places, int stride, Vector<To>& to) {
  assert(from.size() == to.size() && from.device() == to.device());
  if (to.device() == Device::cuda) return cuda_scatter_rows(from.data(), places, to.size() / stride, stride, to.data());
  for_permuted(to.size(), places, stride, [&](std::int64_t i, std::int64_t j) { to[j] = static_cast<To>(from[i]); });
}

Vector<std::int32_t> places_between(const Vector<std::int32_t>& from, const Vector<std::int32_t>& to,
                                    std::int64_t size) {
  if (from.size() == 0 && to.size() == 0) return {};
  if ((from.size() > 0 ? from : to).device() == Device::cuda) return cuda_places_between(from, to, size);
  const auto number = [](const Vector<std::int32_t>& order, std::int64_t i) {
    return order.size() == 0 ? static_cast<std::int32_t>(i) : order[i];
  };
  const std::int64_t others = sum_over_row_blocks(size, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    std::int64_t count = 0;
    for (std::int64_t i = first; i < last; ++i) count += number(from, i) != number(to, i) ? 1 : 0;
    return count;
  });
  if (others == 0) return {};
  Vector<std::int32_t> place_in_from(size), places(size);
  for_each_row(size, [&](std::int64_t i) { place_in_from[number(from, i)] = static_cast<std::int32_t>(i); });
  for_each_row(size, [&](std::int64_t i) { places[i] = place_in_from[number(to, i)]; });
  return places;
}

template <std::floating_point T>
void clear_at(std::span<const std::int32_t> places, Vector<T>& vector) {
  if (vector.device() == Device::cuda) return cuda_clear_at(places, vector);
  for (const std::int32_t place : places) vector[place] = 0;
}

template void gather_rows(const Vector<double>&, const Vector<std::int32_t>&, int, Vector<double>&);
template void gather_rows(const Vector<double>&, const Vector<std::int32_t>&, int, Vector<float>&);
template void gather_rows(const Vector<float>&, const Vector<std::int32_t>&, int, Vector<float>&);
template void scatter_rows(const Vector<double>&, const Vector<std::int32_t>&, int, Vector<double>&);
template void scatter_rows(const Vector<float>&, const Vector<std::int32_t>&, int, Vector<double>&);
template void scatter_rows(const Vector<float>&, const Vector<std::int32_t>&, int, Vector<float>&);
template void clear_at(std::span<const std::int32_t>, Vector<double>&);
template void clear_at(std::span<const std::int32_t>, Vector<float>&);

}  // namespace femcg::operators

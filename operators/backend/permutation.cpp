#include "operators/backend/permutation.hpp"

#include <cassert>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

template <std::floating_point T>
void gather(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  assert(from.size() == places.size() && to.size() == places.size() && from.device() == to.device());
  if (to.device() == Device::cuda) return cuda_gather(from, places, to);
  for_each_row(places.size(), [&](std::int64_t i) { to[i] = from[places[i]]; });
}

template <std::floating_point T>
void scatter(const Vector<T>& from, const Vector<std::int32_t>& places, Vector<T>& to) {
  assert(from.size() == places.size() && to.size() == places.size() && from.device() == to.device());
  if (to.device() == Device::cuda) return cuda_scatter(from, places, to);
  for_each_row(places.size(), [&](std::int64_t i) { to[places[i]] = from[i]; });
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

template void gather(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void gather(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void scatter(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void scatter(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void clear_at(std::span<const std::int32_t>, Vector<double>&);
template void clear_at(std::span<const std::int32_t>, Vector<float>&);

}  // namespace femcg::operators

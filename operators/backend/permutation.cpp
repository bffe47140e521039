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

template void gather(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void gather(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void scatter(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void scatter(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);

}  // namespace femcg::operators

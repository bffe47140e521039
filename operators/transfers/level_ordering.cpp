#include "operators/transfers/level_ordering.hpp"

#include <algorithm>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

void renumber(const LevelOrdering& ordering, std::span<std::int32_t> unknowns) {
  const Vector<std::int32_t> order = copied(*ordering.ordering, Device::host);
  const std::int64_t size = std::max(order.size(), std::ssize(ordering.unknowns));
  if (size == 0) return;
  Vector<std::int32_t> places(size);
  for_each_row(size, [&](std::int64_t i) {
    const std::int64_t number = order.size() > 0 ? order[i] : i;
    places[ordering.unknowns.empty() ? number : ordering.unknowns[number]] = static_cast<std::int32_t>(i);
  });
  for_each_row(std::ssize(unknowns), [&](std::int64_t i) {
    if (unknowns[i] >= 0) unknowns[i] = places[unknowns[i]];
  });
}

}  // namespace femcg::operators

#include "operators/distributed/maps/interface_plan.hpp"

#include <cstddef>
#include <numeric>

#include "operators/distributed/maps/index_map.hpp"

namespace femcg::operators {

InterfacePlan::InterfacePlan(const IndexMap& map, int rank)
    : shared(map.size() - map.first_shared), offsets(static_cast<std::size_t>(shared) + 1, 1) {
  for (const IndexMap::Neighbour& neighbour : map.neighbours)
    for (const std::int32_t i : neighbour.shared) places.push_back(i - map.first_shared);
  for (const std::int32_t place : places) ++offsets[place];
  std::exclusive_scan(offsets.begin(), offsets.end(), offsets.begin(), std::int64_t{0});
  terms.resize(static_cast<std::size_t>(offsets.back()));
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  const auto count = static_cast<std::int32_t>(places.size());
  std::int32_t place = 0;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    if (neighbour.rank > rank) break;
    for (std::size_t k = 0; k < neighbour.shared.size(); ++k, ++place) terms[next[places[place]]++] = place;
  }
  for (std::int32_t i = 0; i < shared; ++i) terms[next[i]++] = count + i;
  for (; place < count; ++place) terms[next[places[place]]++] = place;
}

std::vector<Message> messages_of(const IndexMap& map, int stride) {
  std::vector<Message> messages;
  std::int64_t first = 0;
  for (const IndexMap::Neighbour& neighbour : map.neighbours) {
    const std::int64_t count = std::ssize(neighbour.shared) * stride;
    messages.push_back({neighbour.rank, first, count});
    first += count;
  }
  return messages;
}

}  // namespace femcg::operators

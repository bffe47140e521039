#pragma once

#include <cstdint>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

struct IndexMap;

/// Indices sent and added in a sum over an interface, for one value per unknown.
struct InterfacePlan {
  InterfacePlan(const IndexMap& map, int rank);

  std::int64_t shared = 0;           ///< number of shared unknowns
  std::vector<std::int32_t> places;  ///< shared unknown of each value sent, neighbour by neighbour
  /// The sum of shared unknown i runs over values terms[offsets[i]] to terms[offsets[i + 1] - 1], indices of received
  /// values or, behind these, of own contributions, in the order of ranks.
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> terms;
};

/// Message ranges for each neighbour, in the order of the map, for `stride` values an unknown.
std::vector<Message> messages_of(const IndexMap& map, int stride);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

struct IndexMap;

/// Indices sent and added in a sum over an interface, for one value an unknown.
struct InterfacePlan {
  InterfacePlan(const IndexMap& map, int rank);

  std::int64_t shared = 0;           ///< unknowns
  std::vector<std::int32_t> places;  ///< of the shared unknown of each number that is sent, neighbour by neighbour
  /// The sum of shared unknown i is that of the received numbers terms[offsets[i]] to terms[offsets[i + 1] - 1], where
  /// the own contributions stand behind those of others. In the order of ranks.
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> terms;
};

/// Message ranges for each neighbour, in the order of the map, for `stride` values an unknown.
std::vector<Message> messages_of(const IndexMap& map, int stride);

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// The rows of the unknowns that a process owns, with what all processes contribute to them.
template <std::floating_point T>
struct CompleteRows {
  CsrMatrix<T> matrix;               ///< row i is unknown i of the map; columns from map.owned on are the ghosts'
  std::vector<std::int64_t> ghosts;  ///< by their numbers in the whole system, ascending; also such as the map has not
  std::vector<std::int64_t> firsts;  ///< the first number of each process, and behind them that of all unknowns
  std::vector<std::int32_t> unknowns;  ///< of the map, by their numbers from the first of this process on
};

/// Collective. The complete rows, from the matrices of a subdomain's two parts, on the host; null where a part has no
/// unknown.
template <std::floating_point T>
CompleteRows<T> complete_rows(const Communicator& communicator, const Subdomain& subdomain,
                              const CsrMatrix<T>* interior, const CsrMatrix<T>* interface);

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// The rows of the unknowns that a process owns, with the contributions of all processes.
template <std::floating_point T>
struct CompleteRows {
  CsrMatrix<T> matrix;                 ///< row i is unknown i of the map; columns from map.owned on are ghosts
  std::vector<std::int64_t> ghosts;    ///< by global index, ascending; also some that the map has not
  std::vector<std::int64_t> firsts;    ///< first global index of each process, then the number of all unknowns
  std::vector<std::int32_t> unknowns;  ///< local indices by global index, from the first of this process on
};

/// Computes the complete rows on the host from the matrices of a subdomain's two parts, null for a part without
/// unknowns. Collective.
template <std::floating_point T>
CompleteRows<T> complete_rows(const Communicator& communicator, const Subdomain& subdomain,
                              const CsrMatrix<T>* interior, const CsrMatrix<T>* interface);

}  // namespace femcg::operators

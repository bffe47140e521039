#pragma once

#include <concepts>
#include <memory>

#include "operators/distributed/maps/complete_rows.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

/// The transfer between two levels that are distributed over all processes. `owned` is this process's part: from its
/// coarse unknowns to its owned fine unknowns. Restriction adds up the processes' contributions to coarse unknowns;
/// prolongation gives ghosts the bits of their owners. Vectors are in the orderings of distributed operators.
/// Collective, as are the calls of the result; communicator and maps must outlive it.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_distributed_transfer(const Communicator& communicator, const IndexMap& fine,
                                                       const IndexMap& coarse, std::unique_ptr<Transfer<T>> owned,
                                                       Device device);

/// The transfer from a distributed level to one on the first process alone, where the coarse vectors of the others are
/// empty. `on_first`: on the first process the transfer from all fine unknowns by their global indices
/// (IndexMap::numbers); null elsewhere. `ordering`: that of this process's fine vectors. Collective, as are the calls
/// of the result.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_gathering_transfer(const Communicator& communicator, const IndexMap& fine,
                                                     const Vector<std::int32_t>& ordering,
                                                     std::unique_ptr<Transfer<T>> on_first, Device device);

/// The global matrix on the first process, with global indices; a matrix without rows on the others. Collective. Throws
/// std::length_error on all processes if it has 2^31 rows or more.
RectangularMatrix gathered_on_first(const Communicator& communicator, const IndexMap& map,
                                    const CompleteRows<double>& rows);

}  // namespace femcg::operators

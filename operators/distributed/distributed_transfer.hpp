#pragma once

#include <concepts>
#include <memory>

#include "operators/distributed/maps/complete_rows.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

/// The transfer between two levels that all processes share. `owned` is this process's part of it: coarse unknowns to
/// the fine ones that it owns. Restriction adds up what the processes contribute to coarse unknowns; prolongation gives
/// ghosts the bits of their owners. Vectors are in the orderings of distributed operators. Collective, as its calls;
/// communicator and maps must outlive it.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_distributed_transfer(const Communicator& communicator, const IndexMap& fine,
                                                       const IndexMap& coarse, std::unique_ptr<Transfer<T>> owned,
                                                       Device device);

/// The transfer from a level that all processes share to one that the first process has alone: the others' coarse
/// vectors are empty. `on_first`: there, from all fine unknowns by their numbers (IndexMap::numbers); null elsewhere.
/// `ordering`: that of this process's fine vectors. Collective, as its calls.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_gathering_transfer(const Communicator& communicator, const IndexMap& fine,
                                                     const Vector<std::int32_t>& ordering,
                                                     std::unique_ptr<Transfer<T>> on_first, Device device);

/// The whole matrix on the first process, rows and columns by their numbers; without rows on the others. Collective.
/// Throws std::length_error, on all processes, where it has 2^31 rows or more.
RectangularMatrix gathered_on_first(const Communicator& communicator, const IndexMap& map,
                                    const CompleteRows<double>& rows);

}  // namespace femcg::operators

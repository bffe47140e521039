#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>

#include "operators/distributed/gpu/gpu_exchange.hpp"
#include "operators/distributed/maps/complete_rows.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/persistent/persistent_cg.hpp"

namespace femcg::operators {

/// The persistent kernel over all processes, each with the rows of the unknowns that it owns. `ordering` is that of the
/// vectors, empty where it is the map's. On all processes null where one of them has no rows, or too many for it, or no
/// room, or, for PersistentFor::faster, where launches are expected to be faster. Ghosts of x are right after each
/// iterate(), those of the other vectors are not. Collective; so is the end of what it makes, but where a process
/// fails. The exchange, of one vector, must outlive it.
template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> make_gpu_persistent_cg(const Communicator& communicator, const IndexMap& map,
                                                        const CompleteRows<T>& rows,
                                                        std::span<const std::int32_t> ordering,
                                                        GpuExchange<T>& exchange, PersistentFor systems);

}  // namespace femcg::operators

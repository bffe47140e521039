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

/// The persistent kernel over all processes, each with the rows of its owned unknowns. `ordering` is that of the
/// vectors, empty for the map's. Null on all processes if one of them has no rows, too many rows, or no room for
/// windows, or, for PersistentFor::faster, if launches are expected to be faster. iterate() makes the ghosts of x
/// valid, but not those of the other vectors. Collective, as is the destruction of the result unless a process fails.
/// `exchange`, of stride 1, must outlive the result.
template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> make_gpu_persistent_cg(const Communicator& communicator, const IndexMap& map,
                                                        const CompleteRows<T>& rows,
                                                        std::span<const std::int32_t> ordering,
                                                        GpuExchange<T>& exchange, PersistentFor systems);

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/distributed/gpu/gpu_sums.hpp"
#include "operators/distributed/maps/interface_plan.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// Contributions of interface cells to their rows of a product, for interleaved vectors.
template <std::floating_point T>
struct InterfaceRows {
  T* contributions;            ///< of interface cells
  std::int64_t count;          ///< numbers
  std::int64_t both;           ///< those that interior cells contribute to as well, which lie first and are in y
  std::int64_t shared;         ///< number of the first one that other processes have; those behind it they have too
  const std::int32_t* places;  ///< of the rows of `both` in y; null where they lie in their order from `of_first`
  T *y, *of_first;             ///< y, and its place of number 0
};

/// The sums over an interface between processes whose GPUs write into each other's memory and tell each other: neither
/// the hosts nor MPI take part, so that products can be recorded.
template <std::floating_point T>
class GpuExchange {
 public:
  virtual ~GpuExchange() = default;

  /// Gives the GPU: writes contributions, entry 0 being the first shared unknown, to all that share them.
  virtual void send(const T* contributions) = 0;
  /// Gives the GPU: waits for what others have sent, and completes y: adds contributions to what interior cells have
  /// left there, and those of all processes, in the order of ranks, where they share. Meanwhile one block adds up
  /// `summands`.
  virtual void receive(const InterfaceRows<T>& rows, const Summands& summands) = 0;
  /// Number of exchanges so far; waits for the GPU.
  virtual std::int64_t epochs() const = 0;
};

/// Collective, and so is the destruction of the result unless a process fails. Requires GPUs that make the sums; these
/// and the communicator must outlive it. Throws std::runtime_error where CUDA does not let one write into another's
/// memory.
template <std::floating_point T>
std::unique_ptr<GpuExchange<T>> make_gpu_exchange(const Communicator& communicator, const IndexMap& map, int stride,
                                                  const GpuSums& sums);

}  // namespace femcg::operators

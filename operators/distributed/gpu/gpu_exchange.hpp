#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/distributed/gpu/gpu_sums.hpp"
#include "operators/distributed/maps/interface_plan.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// Rows of a product that interface cells contribute to, for multi-vectors.
template <std::floating_point T>
struct InterfaceRows {
  T* contributions;            ///< of interface cells
  std::int64_t count;          ///< number of contributions
  std::int64_t both;           ///< the first ones, of rows that interior cells have written to y
  std::int64_t shared;         ///< index of the first one of an unknown shared with other processes; all behind it are
  const std::int32_t* places;  ///< of the rows of `both` in y; null if they are contiguous from `of_first` on
  T *y, *of_first;             ///< y, and its entry for contribution 0
};

/// Sums over an interface between processes whose GPUs write into each other's memory and post epochs: neither the
/// hosts nor MPI take part, so that products can be captured in CUDA graphs.
template <std::floating_point T>
class GpuExchange {
 public:
  virtual ~GpuExchange() = default;

  /// Enqueues writing contributions, entry 0 being the first shared unknown, into the memory of all GPUs that share
  /// them.
  virtual void send(const T* contributions) = 0;
  /// Enqueues waiting for the other processes' contributions and completing y: adds own contributions to those of
  /// interior cells, and for shared unknowns the contributions of all processes in the order of ranks. One block adds
  /// up `summands` concurrently.
  virtual void receive(const InterfaceRows<T>& rows, const Summands& summands) = 0;
  /// Number of exchanges so far; waits for the GPU.
  virtual std::int64_t epochs() const = 0;
};

/// Collective, as is the destruction of the result unless a process fails. Requires GPUs that sum (`sums`), which must
/// outlive the result, as must the communicator. Throws std::runtime_error if CUDA does not let one GPU write into
/// another's memory.
template <std::floating_point T>
std::unique_ptr<GpuExchange<T>> make_gpu_exchange(const Communicator& communicator, const IndexMap& map, int stride,
                                                  const GpuSums& sums);

}  // namespace femcg::operators

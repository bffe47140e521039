#pragma once

// A GPU's part in products over several processes, besides the operators, where values go to other processes through
// page-locked memory of the host, which any MPI can send.

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "operators/backend/vector.hpp"
#include "operators/distributed/maps/interface_plan.hpp"

namespace femcg::operators {

/// The GPU's part of an InterfaceSum. What is enqueued is in order with the GPU's other work, and the host does not
/// wait.
template <std::floating_point T>
class GpuInterface {
 public:
  virtual ~GpuInterface() = default;

  /// Page-locked host memory for messages, outgoing and incoming, in the order of InterfacePlan.
  virtual T* sent() = 0;
  virtual T* received() = 0;
  /// Enqueues packing the contributions, entry 0 being the first shared unknown.
  virtual void pack(const T* contributions) = 0;
  /// Waits until they are packed, but not for later work.
  virtual void wait_until_packed() = 0;
  /// Enqueues copying the received values to the GPU.
  virtual void fetch() = 0;
  /// Enqueues the sums, which need the fetched values.
  virtual void add(T* sums) = 0;
};

/// Throws std::runtime_error in a build without CUDA, as do all functions below.
template <std::floating_point T>
std::unique_ptr<GpuInterface<T>> make_gpu_interface(const InterfacePlan& plan, int stride);

/// to_i += a_i for i < both; to_i = a_i for both <= i < count. If `places` is not null, the first `both` values are
/// added to the rows places[...] of y instead, `stride` values a row.
template <std::floating_point T>
void cuda_add_contributions(const T* a, std::int64_t both, std::int64_t count, int stride, const std::int32_t* places,
                            T* to, T* y);
/// sums_c = a_c + b_c, with `sums` in page-locked memory of the host.
void cuda_add_energies(const double* a, const double* b, int count, double* sums);

/// Copies up to most_values_sent values to the GPU, in order with its other work; they may change once this returns.
constexpr int most_values_sent = 32;
void cuda_send_values(std::span<const double> numbers, double* to);

/// Unique identifiers (16 bytes) of the GPUs that this process sees, by device number. None in a build without CUDA.
std::vector<std::string> cuda_uuids();

/// True while the stream is being captured into a CUDA graph, so that work is not run.
bool cuda_is_capturing();

/// Measures seconds between moments of a GPU's work.
class GpuStopwatch {
 public:
  GpuStopwatch();
  ~GpuStopwatch();
  GpuStopwatch(const GpuStopwatch&) = delete;
  GpuStopwatch& operator=(const GpuStopwatch&) = delete;

  static constexpr int moments = 3;
  /// Records the moment when the GPU has done all work enqueued so far.
  void mark(int moment);
  /// Seconds from one moment to a later one; waits for the later.
  double seconds(int from, int to) const;

 private:
  struct Events;
  std::unique_ptr<Events> events_;
};

}  // namespace femcg::operators

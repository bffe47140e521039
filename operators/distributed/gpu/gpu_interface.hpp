#pragma once

// What a GPU does for products over several processes, beside the operators, where its numbers go to the others through
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

/// The parts of an InterfaceSum that are a GPU's. What is said to be given to the GPU is in order with its other work,
/// and the host does not wait.
template <std::floating_point T>
class GpuInterface {
 public:
  virtual ~GpuInterface() = default;

  /// Memory of the host for messages: what goes out and what comes in, in the order of InterfacePlan.
  virtual T* sent() = 0;
  virtual T* received() = 0;
  /// Gives the GPU the packing of contributions, entry 0 being the first shared unknown.
  virtual void pack(const T* contributions) = 0;
  /// Waits until it has packed them, and for nothing that it was given later.
  virtual void wait_until_packed() = 0;
  /// Gives the GPU what has arrived.
  virtual void fetch() = 0;
  /// Gives it the sums, which need what was fetched.
  virtual void add(T* sums) = 0;
};

/// Throws std::runtime_error in a build without CUDA, as all below.
template <std::floating_point T>
std::unique_ptr<GpuInterface<T>> make_gpu_interface(const InterfacePlan& plan, int stride);

/// to_i = to_i + a_i for the numbers i < both, a_i from there to `count` of them. Where `places` is not null, the first
/// `both` belong to rows of `stride` numbers of y instead.
template <std::floating_point T>
void cuda_add_contributions(const T* a, std::int64_t both, std::int64_t count, int stride, const std::int32_t* places,
                            T* to, T* y);
/// sums_c = a_c + b_c, `sums` in page-locked memory of the host.
void cuda_add_energies(const double* a, const double* b, int count, double* sums);

/// Sends a few values to the GPU, in order with its other work; they are copied before this returns.
constexpr int most_values_sent = 32;
void cuda_send_values(std::span<const double> numbers, double* to);

/// Unique identifiers (16 bytes) of the GPUs that this process sees, by device number. None in a build without CUDA.
std::vector<std::string> cuda_uuids();

/// True if the stream is being captured into a CUDA graph, so that work is not run.
bool cuda_is_capturing();

/// Seconds between moments of a GPU's work.
class GpuStopwatch {
 public:
  GpuStopwatch();
  ~GpuStopwatch();
  GpuStopwatch(const GpuStopwatch&) = delete;
  GpuStopwatch& operator=(const GpuStopwatch&) = delete;

  static constexpr int moments = 3;
  /// The moment when the GPU is done with what it was given so far.
  void mark(int moment);
  /// From one to a later one, which is waited for.
  double seconds(int from, int to) const;

 private:
  struct Events;
  std::unique_ptr<Events> events_;
};

}  // namespace femcg::operators

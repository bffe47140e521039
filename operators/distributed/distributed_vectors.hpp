#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "operators/backend/memory.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/capabilities.hpp"
#include "operators/distributed/gpu/gpu_sums.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// A view of some entries of a vector.
template <class T>
Vector<T> part_of(Vector<T>& vector, std::int64_t first, std::int64_t count) {
  return Vector<T>(vector.data() + first, count, vector.device());
}
template <class T>
const Vector<T> part_of(const Vector<T>& vector, std::int64_t first, std::int64_t count) {
  return Vector<T>(const_cast<T*>(vector.data()) + first, count, vector.device());  // the view is const
}

/// A view of some entries of a diagonal; null if there is none.
struct DiagonalPart {
  DiagonalPart(const InverseDiagonal* whole, std::int64_t first, std::int64_t count) {
    if (whole != nullptr) part.emplace(const_cast<float*>(whole->data()) + first, count, whole->device());
  }
  const InverseDiagonal* get() const { return part ? &*part : nullptr; }
  std::optional<InverseDiagonal> part;
};

/// Values that a device writes and the host reads; for a GPU in page-locked memory.
class HostNumbers {
 public:
  HostNumbers(std::int64_t count, Device device);
  /// The values on the device that writes them; valid once its work is done.
  Vector<double>& on_device() { return numbers_; }
  std::span<double> values() { return {numbers_.data(), static_cast<std::size_t>(numbers_.size())}; }

 private:
  PageLocked memory_;
  Vector<double> numbers_;
};

/// Copies values of the host to a device.
void give(std::span<const double> numbers, double* to, Device device);

/// Vector kernels of CG over the subdomains of several processes: they run on all local entries, ghosts included; sums
/// run over the owned entries and then over the processes. With a GPU the host waits for each sum, unless the GPUs sum.
///
/// Every sum includes the request to stop, so that all processes learn of it at the same time.
template <std::floating_point T>
class DistributedVectors final : public VectorKernels<T>, public VectorOwnership, public WithDelayedSums {
 public:
  /// Communicator and map must outlive it. `stop` returns true if this process is asked to stop; it may be empty.
  DistributedVectors(const Communicator& communicator, const IndexMap& map, Device device, std::function<bool()> stop);

  /// True if any process was asked to stop at the time of the last sum; the same on all. If the GPUs sum, which do not
  /// carry the request, every 16th call is a sum over the processes: calls are then collective.
  bool asked_to_stop() const;
  /// True if the GPUs sum over the processes (GpuSums), and the host waits for no sum.
  bool gpus_sum() const { return gpu_sums_ != nullptr; }
  const GpuSums& gpu_sums() const { return *gpu_sums_; }
  /// The values that a GPU adds up next: energies a_c + b_c, c < count, and the delayed sums.
  Summands summands(const double* a, const double* b, int count, double* energies) const;
  /// Replaces this process's energies by sums over all processes, together with the delayed sums. The GPU's work must
  /// be done.
  void sum_energies(std::span<double> energies) const;
  /// Replaces values of the host by their sums over the processes; the request to stop is summed with them.
  void sum_with_request(std::span<double> numbers) const;
  /// Number of sums over the processes so far, of kernels and products.
  std::int64_t sums() const { return sum_count_; }

  double sum(double mine) const override { return communicator_->sum(mine); }
  std::int64_t counted(std::int64_t) const override { return map_->owned; }
  std::span<const std::int64_t> numbers() const override { return map_->numbers; }
  const VectorOwnership& ownership() const override { return *this; }
  const DelayedUpdate<Vector<T>>* delayed_update() const override {
    return gpus_sum() ? all_->delayed_update() : nullptr;
  }
  void delay_sums(bool delayed) const override {
    delayed_ = delayed;
    waiting_ = nullptr;
  }

  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override;
  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override;
  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override;
  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override;
  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override;
  void complete_sums(CgScalars& last) const override;
  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override;

 private:
  /// The kernels that make the sums requested now.
  const VectorKernels<T>& passes() const { return gpus_sum() && !delayed_ ? *all_ : *mine_; }
  /// Destination of a kernel's norms; sum_norms then sums them over the processes if the kernel has not.
  CgScalars& norms_for(CgScalars& next) const { return gpus_sum() ? next : sums_; }
  void sum_norms(CgScalars& next) const;

  const Communicator* communicator_;
  const IndexMap* map_;
  Device device_;
  std::unique_ptr<GpuSums> gpu_sums_;
  std::unique_ptr<VectorKernels<T>> mine_;  ///< with sums over the owned entries
  std::unique_ptr<VectorKernels<T>> all_;   ///< with sums over all processes, by the GPUs
  mutable HostNumbers numbers_;             ///< local sums
  mutable CgScalars sums_;
  mutable bool delayed_ = false, under_way_ = false;  ///< sums that wait for a product; sums in flight during a product
  mutable CgScalars* waiting_ = nullptr;              ///< destination of the delayed sums
  mutable std::int64_t sum_count_ = 0;
  std::function<bool()> stop_;
  mutable bool asked_to_stop_ = false;
  mutable std::int64_t times_asked_ = 0;
};

extern template class DistributedVectors<double>;
extern template class DistributedVectors<float>;

}  // namespace femcg::operators

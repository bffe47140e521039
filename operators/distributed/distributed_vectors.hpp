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

/// Some entries of a vector that is kept elsewhere.
template <class T>
Vector<T> part_of(Vector<T>& vector, std::int64_t first, std::int64_t count) {
  return Vector<T>(vector.data() + first, count, vector.device());
}
template <class T>
const Vector<T> part_of(const Vector<T>& vector, std::int64_t first, std::int64_t count) {
  return Vector<T>(const_cast<T*>(vector.data()) + first, count, vector.device());  // const as a whole
}

/// The same entries of a diagonal that may not be there.
struct DiagonalPart {
  DiagonalPart(const InverseDiagonal* whole, std::int64_t first, std::int64_t count) {
    if (whole != nullptr) part.emplace(const_cast<float*>(whole->data()) + first, count, whole->device());
  }
  const InverseDiagonal* get() const { return part ? &*part : nullptr; }
  std::optional<InverseDiagonal> part;
};

/// Numbers that a device writes and the host reads: page-locked memory, for a GPU.
class HostNumbers {
 public:
  HostNumbers(std::int64_t count, Device device);
  /// On the device that writes them. They are there when its work is done.
  Vector<double>& on_device() { return numbers_; }
  std::span<double> values() { return {numbers_.data(), static_cast<std::size_t>(numbers_.size())}; }

 private:
  PageLocked memory_;
  Vector<double> numbers_;
};

/// Gives a device these numbers.
void give(std::span<const double> numbers, double* to, Device device);

/// The passes of CG over vectors of which each process has its share: each makes them on all its entries, ghosts
/// included, and the sums run over those that it owns, and then over the processes. On a GPU a sum is the host's to
/// wait for, unless GPUs make them.
///
/// With every sum goes whether a process is asked to end, so that all of them learn it at the same time.
template <std::floating_point T>
class DistributedVectors final : public VectorKernels<T>, public VectorOwnership, public WithDelayedSums {
 public:
  /// Both must outlive it. `stop` may be empty.
  DistributedVectors(const Communicator& communicator, const IndexMap& map, Device device, std::function<bool()> stop);

  /// True if any process was asked to end when the last sum was made; the same for all. Where GPUs make the sums, which
  /// say nothing of that, the processes ask each other in every 16th call: together then.
  bool asked_to_stop() const;
  /// True if GPUs make the sums (GpuSums), and the host waits for none.
  bool gpus_sum() const { return gpu_sums_ != nullptr; }
  const GpuSums& gpu_sums() const { return *gpu_sums_; }
  /// The next values that a GPU adds up: energies a_c + b_c, c < count, and delayed sums.
  Summands summands(const double* a, const double* b, int count, double* energies) const;
  /// Replaces what the processes have of energies by their sums, together with what was delayed. A GPU is done with its
  /// work.
  void sum_energies(std::span<double> energies) const;
  /// Replaces numbers of the host by their sums; with them goes whether a process was asked to end.
  void sum_with_request(std::span<double> numbers) const;
  /// Sums over processes in its passes and products so far.
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
  /// The passes whose sums are asked for now.
  const VectorKernels<T>& passes() const { return gpus_sum() && !delayed_ ? *all_ : *mine_; }
  /// Where a pass leaves its norms, which sum_norms then adds up where the pass has not.
  CgScalars& norms_for(CgScalars& next) const { return gpus_sum() ? next : sums_; }
  void sum_norms(CgScalars& next) const;

  const Communicator* communicator_;
  const IndexMap* map_;
  Device device_;
  std::unique_ptr<GpuSums> gpu_sums_;
  std::unique_ptr<VectorKernels<T>> mine_;  ///< with sums of the entries that are owned
  std::unique_ptr<VectorKernels<T>> all_;   ///< with those of all processes, where GPUs make them
  mutable HostNumbers numbers_;             ///< their sums
  mutable CgScalars sums_;
  mutable bool delayed_ = false, under_way_ = false;  ///< sums that wait for a product, or are made beside it
  mutable CgScalars* waiting_ = nullptr;              ///< for sums that were delayed
  mutable std::int64_t sum_count_ = 0;
  std::function<bool()> stop_;
  mutable bool asked_to_stop_ = false;
  mutable std::int64_t times_asked_ = 0;
};

extern template class DistributedVectors<double>;
extern template class DistributedVectors<float>;

}  // namespace femcg::operators

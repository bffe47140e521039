#pragma once

#include <concepts>
#include <functional>
#include <span>

#include "operators/backend/vector_operations.hpp"
#include "operators/distributed/communicator.hpp"
#include "operators/distributed/index_map.hpp"

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

/// The passes of CG on the host over vectors of which each process has its share: each makes them on all its entries,
/// ghosts included, and the sums run over those that it owns, and then over the processes.
///
/// With every sum goes whether a process is asked to end, so that all of them learn it at the same time.
template <std::floating_point T>
class DistributedVectors final : public VectorOperations<T>, public VectorShare {
 public:
  /// Both must outlive it. `stop` may be empty.
  DistributedVectors(const Communicator& communicator, const IndexMap& map, std::function<bool()> stop)
      : communicator_(&communicator), map_(&map), stop_(std::move(stop)) {}

  /// Whether any process was asked to end when the last sum was made; the same for all.
  bool asked_to_stop() const { return asked_to_stop_; }
  /// Replaces numbers by their sums over the processes.
  void sum_over_processes(std::span<double> numbers) const { communicator_->sum(numbers); }

  double sum(double mine) const override { return communicator_->sum(mine); }
  std::int64_t counted(std::int64_t) const override { return map_->owned; }
  std::span<const std::int32_t> numbers() const override { return map_->unknowns; }
  const VectorShare& share() const override { return *this; }

  void start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p, CgScalars& first) const override;
  void update(const CgScalars& now, const Vector<T>& q, const Vector<T>* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override;
  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r, const Vector<T>* inverse_diagonal,
                 Vector<T>& p, Vector<T>& x) const override;
  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, const Vector<T>* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, CgScalars& next) const override;
  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override;

 private:
  void sum_norms(CgScalars& next) const;

  const Communicator* communicator_;
  const IndexMap* map_;
  std::function<bool()> stop_;
  mutable bool asked_to_stop_ = false;
};

extern template class DistributedVectors<double>;
extern template class DistributedVectors<float>;

}  // namespace femcg::operators

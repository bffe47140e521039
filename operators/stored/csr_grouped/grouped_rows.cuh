#pragma once

// Traversal of a row of a slice by a lane.
//
// The values of a slot are contiguous and used once. Lanes whose rows share a list read the same masks, starts and
// entries of x: a warp's load has as many pieces as the slice has lists. A load of x depends on the start of its run;
// starts are prefetched while the previous entries are in flight.

#include "operators/backend/launch.cuh"
#include "operators/stored/csr_grouped/grouped_matrix.hpp"

namespace femcg::operators::cuda {

/// The list of a lane, and the number of lists of the slice.
struct ListOfLane {
  std::int32_t list, count;
};
__device__ inline ListOfLane list_of_lane(const GroupedSlice& slice, int lane) {
  const std::uint32_t up_to_lane = all_lanes >> (threads_per_warp - 1 - lane);
  return {__popc(slice.first_lanes & up_to_lane) - 1, __popc(slice.first_lanes)};
}

/// The columns of a list, `at_once` slots at a time: take_columns(), then load_starts() for the next ones.
template <int at_once, class Rows>
class RunsOfList {
 public:
  static_assert(slots_per_mask % at_once == 0);

  __device__ RunsOfList(const Rows& a, const GroupedSlice& slice, ListOfLane of)
      : count_(of.count),
        left_(slice.slots),
        masks_(a.masks + slice.first_mask + of.list),
        starts_(a.starts + slice.first_start + of.list),
        base_(slice.base) {
    if (left_ > 0) mask_ = __ldg(masks_);
    if (left_ > slots_per_mask) next_mask_ = __ldg(masks_ += count_);
    load_starts();
  }
  /// Number of remaining slots.
  __device__ std::int32_t left() const { return left_; }

  /// Loads the starts of the runs that begin within the next slots.
  __device__ void load_starts() {
#pragma unroll
    for (int i = 0; i < at_once; ++i)
      if ((mask_ >> i & 1) != 0) {
        start_[i] = static_cast<std::int32_t>(__ldg(starts_));
        starts_ += count_;
      }
  }
  /// Calls take(i, column) for the next slots, of which left() remain, and advances.
  template <class Take>
  __device__ void take_columns(const Take& take) {
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if ((mask_ >> i & 1) != 0) column_ = base_ + start_[i];
      take(i, column_ + i);
    }
    base_ += at_once;
    column_ += at_once;
    left_ -= at_once;
    slot_ += at_once;
    mask_ >>= at_once;
    if (slot_ % slots_per_mask != 0) return;
    mask_ = next_mask_;
    next_mask_ = left_ > slots_per_mask ? __ldg(masks_ += count_) : 0;  // no run begins behind the last slot
  }

 private:
  std::int32_t count_, left_, slot_ = 0;
  std::uint32_t mask_ = 0, next_mask_ = 0;
  const std::uint32_t* masks_;
  const typename Rows::Start* starts_;
  std::int32_t base_;        ///< base of the slice plus slots passed
  std::int32_t column_ = 0;  ///< shift of the run plus slots passed
  std::int32_t start_[at_once] = {};
};

/// Sum of the row at `lane` of a slice, with `at_once` entries in flight together.
template <int at_once, class T, class Rows>
__device__ T sum_row(const Rows& a, const GroupedSlice& slice, int lane, const T* x) {
  using Value = typename Rows::Value;
  const Value* values = a.values + slice.first_slot * rows_per_slice + lane;
  RunsOfList<at_once, Rows> runs(a, slice, list_of_lane(slice, lane));
  T sum = 0;
  while (runs.left() > 0) {
    const std::int32_t left = runs.left();
    Value value[at_once];
    T of_x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) value[i] = i < left ? __ldcs(values + i * rows_per_slice) : Value(0);
    runs.take_columns([&](int i, std::int32_t column) { of_x[i] = i < left ? __ldg(x + column) : T(0); });
    runs.load_starts();
#pragma unroll
    for (int i = 0; i < at_once; ++i) sum += static_cast<T>(value[i]) * of_x[i];
    values += at_once * rows_per_slice;
  }
  return sum;
}

}  // namespace femcg::operators::cuda

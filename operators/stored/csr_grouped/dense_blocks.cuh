#pragma once

// Groups of rows as small dense matrices, times rows of X. A warp has eight rows of a slice and all columns of X and Y,
// eight by eight: four slots of the rows are a left factor, four rows of X a right one (small_matrices.cuh). Each list
// of these rows loads its rows of X once, for all eight rows; rows of other lists are multiplied as zero. So an entry
// of X that is not finite reaches all eight rows.
//
// The values of 32 slots stay in registers for all lists. The columns of a list are found by all lanes together, one
// slot each.

#include "operators/backend/cuda/factor_fragment.cuh"
#include "operators/backend/cuda/small_matrices.cuh"
#include "operators/stored/csr_grouped/grouped_rows.cuh"

namespace femcg::operators::cuda {

constexpr int tile_rows = factor_rows, tile_slots = factor_slots;

/// The lists of the rows of a tile, numbered from the first of them, and their columns.
template <class Rows>
class ListsOfTile {
 public:
  /// For the rows from a lane of the slice on.
  __device__ ListsOfTile(const Rows& a, const GroupedSlice& slice, int first_row, int lane)
      : lane_(lane), base_(slice.base) {
    const auto [first, of_slice] = list_of_lane(slice, first_row);
    of_slice_ = of_slice;
    count_ = list_of_lane(slice, first_row + tile_rows - 1).list - first + 1;
    of_row_ = list_of_lane(slice, first_row + lane / tile_slots).list - first;
    masks_ = a.masks + slice.first_mask + first;
    starts_ = a.starts + slice.first_start + first;
  }
  __device__ int count() const { return count_; }
  /// True if the lane's row has this list.
  __device__ bool follows(int list) const { return of_row_ == list; }

  /// Goes on to the next mask: lane l has that of list l.
  __device__ void next_masks() {
    runs_ += __popc(mask_);
    mask_ = lane_ < count_ ? __ldg(masks_ + lane_) : 0;
    masks_ += of_slice_;
  }
  /// The column at slot first + lane of a list, or at the last of `slots` slots from `first` on.
  __device__ std::int32_t column(int list, int first, int slots) const {
    const std::uint32_t mask = __shfl_sync(all_lanes, mask_, list),
                        up_to_lane = all_lanes >> (threads_per_warp - 1 - lane_);
    const std::int32_t run = __shfl_sync(all_lanes, runs_, list) + __popc(mask & up_to_lane) - 1;
    const std::int32_t start = static_cast<std::int32_t>(__ldg(starts_ + std::int64_t{run} * of_slice_ + list));
    return base_ + start + first + min(lane_, slots - 1);
  }

 private:
  int lane_, of_slice_, count_, of_row_;
  std::int32_t base_;
  const std::uint32_t* masks_;
  const typename Rows::Start* starts_;
  std::uint32_t mask_ = 0;
  std::int32_t runs_ = 0;  ///< of list `lane`, in previous masks
};

/// sums += tile times X, for the tile from a lane of the slice on. Called by all lanes of a warp.
template <int stride, class Rows>
__device__ void add_tile(const Rows& a, const GroupedSlice& slice, int first_row, const double* x,
                         typename FactorFragment<stride>::Sums& sums) {
  using Layout = FactorFragment<stride>;
  using Value = typename Rows::Value;
  constexpr int steps = slots_per_mask / tile_slots, together = stride == 8 ? steps : 4;
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp, slot = lane % tile_slots;
  const Value* values =
      a.values + (slice.first_slot + slot) * rows_per_slice + first_row + lane / tile_slots;  // of the lane
  ListsOfTile<Rows> lists(a, slice, first_row, lane);
#pragma unroll 1
  for (int first = 0; first < slice.slots; first += slots_per_mask, values += slots_per_mask * rows_per_slice) {
    const int slots = min(slots_per_mask, slice.slots - first);
    lists.next_masks();
    Value value[steps];
#pragma unroll
    for (int k = 0; k < steps; ++k)
      value[k] = k * tile_slots + slot < slots ? __ldcs(values + k * tile_slots * rows_per_slice) : Value(0);
    std::int32_t next = lists.column(0, first, slots);
#pragma unroll 1
    for (int list = 0; list < lists.count(); ++list) {
      const std::int32_t column = next;
      if (list + 1 < lists.count()) next = lists.column(list + 1, first, slots);
#pragma unroll
      for (int begin = 0; begin < steps; begin += together) {
        if (begin * tile_slots >= slots) break;
        double of_x[together][Layout::factors];
#pragma unroll
        for (int k = 0; k < together; ++k) {
          const std::int32_t row = __shfl_sync(all_lanes, column, (begin + k) * tile_slots + slot);
          Layout::load(x + std::int64_t{row} * stride, lane / tile_slots, of_x[k]);
        }
#pragma unroll
        for (int k = 0; k < together; ++k) {
          const double left = lists.follows(list) ? static_cast<double>(value[begin + k]) : 0.0;
#pragma unroll
          for (int f = 0; f < Layout::factors; ++f) multiply_add(left, of_x[k][f], sums.of[f]);
        }
      }
    }
  }
}

}  // namespace femcg::operators::cuda

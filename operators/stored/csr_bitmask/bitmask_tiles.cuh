#pragma once

// csr-bitmask by warps, one tile each: a step is an 8 x 4 left factor, of which a lane has the entry of its bit of the
// mask, if it is set. A warp's loads of values are contiguous: a lane's offset is the number of bits set before its
// own. Missing entries are replaced by zero, so that an entry of X that is not finite reaches all eight rows.
//
// Only loads whose address depends on a mask or a column are exposed: batches are loaded one batch ahead, begin and end
// of a tile one tile ahead. Counts of a batch are stored, as counting bits takes a warp eight cycles.
//
// With eight vectors the L2 cache is 83% busy on an H200, with 32 the L1 caches 88%. Prefetching entries and rows of X
// of the next batch to registers leaves 24 warps instead of 40, and is slower by 10% with up to 8 vectors and 20 to 50%
// with 32. Prefetching all stored data as one stream to ring buffers in shared memory is slower by 20 to 40%: the issue
// of instructions is then the bottleneck, and with 32 vectors X lacks the L1 cache that the buffers take. Tiles of
// sixteen rows, whose halves share rows of X, take 15 to 25% off hexahedra of degree 2 and 4 with 32 vectors, and add
// 10 to 25% at degree 1 and on tetrahedra.

#include "operators/backend/cuda/factor_fragment.cuh"
#include "operators/backend/cuda/small_matrices.cuh"
#include "operators/stored/csr_bitmask/bitmask_matrix.hpp"

namespace femcg::operators::cuda {

/// A batch with the columns of one lane.
template <class Rows>
struct BatchOfLane {
  BatchMasks masks;
  std::uint32_t counts;
  BatchColumns<typename Rows::Column> columns;
};

/// Traverses the tiles of a warp, `warps` apart, with prefetch.
template <class Rows>
class TilesOfWarp {
 public:
  __device__ TilesOfWarp(const Rows& a, std::int64_t warp, std::int64_t warps)
      : a_(a),
        warps_(warps),
        lane_(static_cast<int>(threadIdx.x) % threads_per_warp),
        tile_(warp),
        next_(bounds_of(warp)),
        ahead_(batch_at(next_.first.first_batch)) {
    advance();
  }
  /// The lane's row, which may be behind the last one.
  __device__ std::int64_t row() const { return tile_ * rows_per_tile + lane_ / columns_per_step; }
  __device__ bool has_tile() const { return tile_ < a_.tile_count(); }
  __device__ void go_on() {
    tile_ += warps_;
    advance();
  }
  /// Calls take(value[4], column[4]) for each batch of the tile: the lane's entries of its steps, and their columns.
  template <class Take>
  __device__ void for_batches(const Take& take) {
    const std::uint32_t bit = std::uint32_t{1} << lane_;
    const auto* values = a_.values + tile_bounds_.first.first_value;
#pragma unroll 1
    for (std::int32_t b = tile_bounds_.first.first_batch; b < tile_bounds_.end; ++b) {
      const BatchOfLane<Rows> batch = ahead_;
      ahead_ = batch_at(b + 1 < tile_bounds_.end ? b + 1 : next_.first.first_batch);
      typename Rows::Value value[steps_per_batch];
      std::int32_t column[steps_per_batch];
#pragma unroll
      for (int k = 0; k < steps_per_batch; ++k) {
        const std::uint32_t mask = batch.masks.of[k];
        const std::uint32_t before = k == 0 ? 0 : batch.counts >> 8 * (k - 1) & 0xff;
        value[k] = (mask & bit) != 0 ? __ldcs(values + (before + __popc(mask & (bit - 1)))) : 0;
        column[k] = batch.columns.of[k];
      }
      values += batch.counts >> 24;
      take(value, column);
    }
    if (tile_bounds_.first.first_batch == tile_bounds_.end) ahead_ = batch_at(next_.first.first_batch);
  }
  /// The first column of the tile, the base of its columns.
  __device__ std::int32_t base() const { return tile_bounds_.first.base; }

 private:
  struct Bounds {
    BitmaskTile first;
    std::int32_t end;  ///< end of its batches
  };
  __device__ Bounds bounds_of(std::int64_t tile) const {
    const std::int64_t last = a_.tile_count();
    const BitmaskTile of = a_.tiles[tile < last ? tile : last];
    return {of, tile < last ? a_.tiles[tile + 1].first_batch : of.first_batch};
  }
  __device__ BatchOfLane<Rows> batch_at(std::int32_t batch) const {
    return {a_.masks[batch], __ldg(a_.counts + batch),
            a_.columns[std::int64_t{columns_per_step} * batch + lane_ % columns_per_step]};
  }
  __device__ void advance() {
    tile_bounds_ = next_;
    next_ = bounds_of(tile_ + warps_);
  }

  const Rows& a_;
  std::int64_t warps_;
  int lane_;
  std::int64_t tile_;
  Bounds tile_bounds_, next_;
  BatchOfLane<Rows> ahead_;
};

/// The lane's sums of the tile times X.
template <int stride, class Rows, class T>
__device__ typename FactorFragment<stride>::Sums multiply_tile(TilesOfWarp<Rows>& tiles, const T* x) {
  using Layout = FactorFragment<stride>;
  const int column_of_factor = static_cast<int>(threadIdx.x) % threads_per_warp / columns_per_step;
  typename Layout::Sums sums{};
  const T* of_tile = x + std::int64_t{tiles.base()} * stride;
  tiles.for_batches([&](const auto& value, const auto& column) {
    double of_x[steps_per_batch][Layout::factors];
#pragma unroll
    for (int k = 0; k < steps_per_batch; ++k)
      Layout::load(of_tile + std::int64_t{column[k]} * stride, column_of_factor, of_x[k]);
#pragma unroll
    for (int k = 0; k < steps_per_batch; ++k)
#pragma unroll
      for (int f = 0; f < Layout::factors; ++f) multiply_add(static_cast<double>(value[k]), of_x[k][f], sums.of[f]);
  });
  return sums;
}

/// The lane's contribution to its row of the tile times x.
template <class Rows, class T>
__device__ T multiply_tile(TilesOfWarp<Rows>& tiles, const T* x) {
  T sum = 0;
  const T* of_tile = x + tiles.base();
  tiles.for_batches([&](const auto& value, const auto& column) {
    T of_x[steps_per_batch];
#pragma unroll
    for (int k = 0; k < steps_per_batch; ++k) of_x[k] = __ldg(of_tile + column[k]);
#pragma unroll
    for (int k = 0; k < steps_per_batch; ++k) sum += static_cast<T>(value[k]) * of_x[k];
  });
  return sum;
}

}  // namespace femcg::operators::cuda

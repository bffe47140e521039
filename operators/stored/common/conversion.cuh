#pragma once

// Common parts of the conversions of a matrix on the GPU.

#include <algorithm>
#include <limits>

#include "operators/backend/launch.cuh"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/narrow_columns.hpp"
#include "operators/stored/common/stored_format.hpp"

namespace femcg::operators::cuda {

/// A matrix in compressed rows on the GPU, during its conversion.
template <std::floating_point T>
class EntriesOnGpu {
 public:
  /// Columns are copied only if `with_columns`.
  explicit EntriesOnGpu(const CsrMatrix<T>& matrix, bool with_columns = true)
      : rows_(matrix.rows),
        offsets_(copied(matrix.row_offsets, Device::cuda)),
        columns_(with_columns ? copied(matrix.columns, Device::cuda) : Vector<std::int32_t>()),
        values_(copied(matrix.values, Device::cuda)) {}
  /// Waits for the conversion, which reads these arrays.
  ~EntriesOnGpu() { cudaStreamSynchronize(stream()); }
  EntriesOnGpu(const EntriesOnGpu&) = delete;
  EntriesOnGpu& operator=(const EntriesOnGpu&) = delete;

  Entries<T> pointers() const { return {rows_, offsets_.data(), columns_.data(), values_.data()}; }

 private:
  std::int64_t rows_;
  Vector<std::int64_t> offsets_;
  Vector<std::int32_t> columns_;
  Vector<T> values_;
};

/// move_on_host and move_values_on_host (operators/stored/common/stored_format.hpp) with GPU threads, in a grid-stride
/// loop.
template <bool with_columns, class T, class Map>
__global__ void move_kernel(std::int64_t threads, Map map, Entries<T> source, std::int32_t* columns, T* values) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t thread = cuda::thread_number(); thread < threads; thread += stride) {
    const std::int64_t count = map.count(thread);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from = map.from(thread, k), to = map.to(thread, k);
      if constexpr (with_columns) columns[to] = source.columns[from < 0 ? ~from : from];
      values[to] = from < 0 ? T(0) : source.values[from];
    }
  }
}
template <bool with_columns, class T, class Map>
void launch_moves(std::int64_t threads, const Map& map, const Entries<T>& source, std::int32_t* columns, T* values) {
  constexpr int block_threads = 256;
  constexpr auto kernel = move_kernel<with_columns, T, Map>;
  const std::int64_t blocks = cuda::blocks_of(threads, block_threads);
  launch(kernel, std::min(blocks, resident_blocks(kernel, block_threads)), block_threads, 0, threads, map, source,
         columns, values);
}
template <class T, class Map>
void move_on_gpu(std::int64_t threads, const Map& map, const Entries<T>& source, Vector<std::int32_t>& columns,
                 Vector<T>& values) {
  launch_moves<true>(threads, map, source, columns.data(), values.data());
}
template <class T, class Map>
void move_values_on_gpu(std::int64_t threads, const Map& map, const Entries<T>& source, Vector<T>& values) {
  launch_moves<false>(threads, map, source, static_cast<std::int32_t*>(nullptr), values.data());
}

template <class Narrow>
constexpr std::int32_t reach = std::numeric_limits<Narrow>::max();  ///< from a base

/// Finds the base of each piece, its least column or highest_base if that is less; sets `too_far` if a column is out of
/// reach of narrow ones. One warp a piece.
template <class Narrow>
__global__ void find_bases_kernel(std::int64_t pieces, const std::int64_t* offsets, const std::int32_t* columns,
                                  std::int32_t highest_base, std::int32_t* bases, std::int32_t* too_far) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / threads_per_warp);
  std::int64_t piece = cuda::thread_number() / threads_per_warp;
  for (; piece < pieces; piece += warps) {
    const std::int64_t end = offsets[piece + 1];
    std::int32_t least = highest_base, largest = 0;
    for (std::int64_t k = offsets[piece] + lane; k < end; k += threads_per_warp) {
      least = min(least, columns[k]);
      largest = max(largest, columns[k]);
    }
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2) {
      least = min(least, __shfl_xor_sync(all_lanes, least, distance));
      largest = max(largest, __shfl_xor_sync(all_lanes, largest, distance));
    }
    if (lane != 0) continue;
    bases[piece] = least;
    if (largest - least > reach<Narrow>) *too_far = 1;
  }
}

/// Position of the narrow column of entry k of a piece, the entries [begin, end): the same.
struct SamePlace {
  __device__ std::int64_t operator()(std::int64_t k, std::int64_t /*begin*/, std::int64_t /*end*/) const { return k; }
};

/// Writes the columns of each piece less its base to their positions in the piece. One warp a piece.
template <class Narrow, class Place>
__global__ void narrow_kernel(std::int64_t pieces, const std::int64_t* offsets, const std::int32_t* columns,
                              const std::int32_t* bases, Place place, Narrow* narrow) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / threads_per_warp);
  std::int64_t piece = cuda::thread_number() / threads_per_warp;
  for (; piece < pieces; piece += warps) {
    const std::int64_t begin = offsets[piece], end = offsets[piece + 1];
    for (std::int64_t k = begin + lane; k < end; k += threads_per_warp)
      narrow[place(k, begin, end)] = static_cast<Narrow>(columns[k] - bases[piece]);
  }
}

/// Columns on the GPU in 16 bits, zeros behind the last piece; nothing (no bases) if a piece spans more than 65536
/// columns. Piece i is entries [offsets[i], offsets[i + 1]). Bases are so low that base plus any narrow column, also of
/// another piece, is less than `column_count`.
template <class Place = SamePlace>
NarrowColumns narrow_columns(const Vector<std::int32_t>& columns, const Vector<std::int64_t>& offsets,
                             std::int32_t column_count, Place place = {}) {
  constexpr int block_threads = 256, pieces_per_block = block_threads / threads_per_warp;
  const std::int64_t pieces = offsets.size() - 1;
  const auto find = find_bases_kernel<std::uint16_t>;
  const auto narrow_to = narrow_kernel<std::uint16_t, Place>;
  const auto blocks = [&](auto kernel) {
    return std::min((pieces + pieces_per_block - 1) / pieces_per_block, resident_blocks(kernel, block_threads));
  };
  NarrowColumns narrow{Vector<std::int32_t>(pieces, Device::cuda), {}};
  Vector<std::int32_t> too_far = zeros_on_gpu<std::int32_t>(1);
  const std::int32_t highest_base = std::max(column_count - 1 - reach<std::uint16_t>, 0);
  launch(find, blocks(find), block_threads, 0, pieces, offsets.data(), columns.data(), highest_base,
         narrow.bases.data(), too_far.data());
  if (copied(too_far, Device::host)[0] != 0) return {};
  if (columns.size() == 0) return narrow;
  narrow.columns = Vector<std::uint16_t>(columns.size(), Device::cuda);
  cuda_clear(narrow.columns.data(), narrow.columns.bytes());
  launch(narrow_to, blocks(narrow_to), block_threads, 0, pieces, offsets.data(), columns.data(), narrow.bases.data(),
         place, narrow.columns.data());
  return narrow;
}

}  // namespace femcg::operators::cuda

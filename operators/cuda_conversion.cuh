#pragma once

// What the conversions of a matrix on the GPU share. The host makes the lists that have an entry a row; entries are
// moved here, at the GPU's bandwidth. That takes the source's memory beside the target's for a moment.

#include <algorithm>

#include "operators/csr_arrays.hpp"
#include "operators/cuda.cuh"

namespace femcg::operators::cuda {

/// Compressed rows as plain pointers.
template <class T>
struct Source {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
};

/// A copy of a matrix in compressed rows, for as long as it is converted.
template <std::floating_point T>
class SourceOnGpu {
 public:
  explicit SourceOnGpu(const CsrArrays<T>& matrix)
      : offsets_(copied(*matrix.row_offsets, Device::cuda)),
        columns_(copied(*matrix.columns, Device::cuda)),
        values_(copied(*matrix.values, Device::cuda)) {}
  /// Waits for the conversion, which reads it.
  ~SourceOnGpu() { cudaStreamSynchronize(stream()); }
  SourceOnGpu(const SourceOnGpu&) = delete;
  SourceOnGpu& operator=(const SourceOnGpu&) = delete;

  Source<T> pointers() const { return {offsets_.data(), columns_.data(), values_.data()}; }

 private:
  Vector<std::int64_t> offsets_;
  Vector<std::int32_t> columns_;
  Vector<T> values_;
};

/// Where entries go.
template <class T>
struct Target {
  std::int32_t* columns;
  T* values;
};

/// Each of `threads` threads moves entries, entry(thread, k) from one place to another, k < count(thread). `Map` is
/// plain data with
///   __device__ std::int64_t count(std::int64_t thread) const;
///   __device__ std::int64_t from(std::int64_t thread, std::int64_t k) const;
///   __device__ std::int64_t to(std::int64_t thread, std::int64_t k) const;
/// Where `from` is the complement of a place, the entry is padding: that place's column, and the value 0.
template <class T, class Map>
__global__ void move_kernel(std::int64_t threads, Map map, Source<T> source, Target<T> target) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; thread < threads; thread += stride) {
    const std::int64_t count = map.count(thread);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from = map.from(thread, k), to = map.to(thread, k);
      target.columns[to] = source.columns[from < 0 ? ~from : from];
      target.values[to] = from < 0 ? T(0) : source.values[from];
    }
  }
}

/// Converts on the GPU, by `threads` threads.
template <class T, class Map>
void move_entries(std::int64_t threads, const Map& map, const SourceOnGpu<T>& source, Vector<std::int32_t>& columns,
                  Vector<T>& values) {
  constexpr int block_threads = 256;
  const std::int64_t blocks = (threads + block_threads - 1) / block_threads;
  launch(move_kernel<T, Map>, std::min(blocks, resident_blocks(move_kernel<T, Map>, block_threads)), block_threads, 0,
         threads, map, source.pointers(), Target<T>{columns.data(), values.data()});
}

}  // namespace femcg::operators::cuda

#pragma once

#include "operators/backend/launch.cuh"
#include "operators/cellwise/lma/lma_cuda.hpp"

namespace femcg::operators {

/// Positions of the entries (i, j <= i) of the element matrices. For one thread a cell, with adjacent 16-byte loads of
/// adjacent threads: groups of 32 matrices, each as [16-byte runs of the packed lower triangle][32 matrices]; groups of
/// one matrix if matrices are stored per class. For one warp a cell, the lower triangle column by column, matrix after
/// matrix.
template <std::floating_point T>
struct LmaLayout {
  static constexpr int together = 16 / static_cast<int>(sizeof(T));  ///< values in 16 bytes

  int dofs;
  bool columns;  ///< for one warp a cell
  int group;     ///< interleaved matrices

  LmaLayout(int of_dofs, bool stored_once)
      : dofs(of_dofs),
        columns(lma_cell_threads(of_dofs) == CellThreads::warp),
        group(stored_once ? 1 : CellPatches::group) {}

  __host__ __device__ int packed() const { return dofs * (dofs + 1) / 2; }
  __host__ __device__ int runs() const { return (packed() + together - 1) / together; }
  /// Total number of values. Columns are followed by 16 bytes, since they are loaded in aligned pieces of 16 bytes.
  std::int64_t size(std::int64_t matrices) const {
    return columns ? matrices * packed() + together : matrices * runs() * together;
  }
  __device__ std::int64_t index(std::int64_t matrix, int i, int j) const {
    if (columns) return matrix * packed() + j * dofs - j * (j - 1) / 2 + (i - j);
    const int entry = i * (i + 1) / 2 + j;
    return ((matrix / group * runs() + entry / together) * group + matrix % group) * together + entry % together;
  }
};

}  // namespace femcg::operators

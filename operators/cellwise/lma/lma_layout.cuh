#pragma once

#include "operators/backend/launch.cuh"
#include "operators/cellwise/lma/lma_cuda.hpp"

namespace femcg::operators {

/// Places of the entries (i, j <= i) of the element matrices. For a thread per cell, neighbouring threads read
/// neighbouring 16 bytes: groups of 32 matrices, in each of them runs of 16 bytes of the packed lower triangle x 32
/// matrices; where identical ones are stored once, groups of one. For a warp per cell, the lower triangle column by
/// column, one matrix after the other.
template <std::floating_point T>
struct LmaLayout {
  static constexpr int together = 16 / static_cast<int>(sizeof(T));  ///< numbers in 16 bytes

  int dofs;
  bool columns;  ///< for a warp per cell
  int group;     ///< matrices that lie interleaved

  LmaLayout(int of_dofs, bool stored_once)
      : dofs(of_dofs),
        columns(lma_cell_threads(of_dofs) == CellThreads::warp),
        group(stored_once ? 1 : CellPatches::group) {}

  __host__ __device__ int packed() const { return dofs * (dofs + 1) / 2; }
  __host__ __device__ int runs() const { return (packed() + together - 1) / together; }
  /// Numbers in all. Columns end with 16 bytes more, since they are read in pieces that begin and end at 16 bytes.
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

#pragma once

#include <concepts>

#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/matrix_free/cells/matrix_free_cuda.hpp"

namespace femcg::operators {

/// Data for the diagonal of matrix-free on a GPU; see cuda::DiagonalCells.
template <class T>
struct DiagonalSource {
  int dimension;
  CellGeometry geometry;
  bool interleaved;
  int dofs, points;
  const T* numbers;
  const std::uint16_t* classes;
  const T *squares, *positions;
  const T* affine_numbers;            ///< of mixed cells
  const std::int32_t* group_numbers;  ///< of mixed cells
};

/// The diagonal without Robin terms, in the order of the patches' unknowns. `room`: values of shared memory for a
/// patch's part of a vector.
template <std::floating_point T>
void cuda_matrix_free_diagonal(const DiagonalSource<T>& from, const cuda::CellPatchesOnGpu& patches, std::int64_t room,
                               Vector<T>& diagonal);

}  // namespace femcg::operators

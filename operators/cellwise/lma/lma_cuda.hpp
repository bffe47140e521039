#pragma once

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/forms/cell_factors.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// How a cell's matrix is multiplied, by its number of dofs.
enum class CellThreads {
  one,  ///< a thread per cell: x_e, y_e in registers
  warp  ///< a warp per cell: a lane has every 32nd row
};

/// A thread has no room for more dofs than a hexahedron of degree 2 has.
constexpr CellThreads lma_cell_threads(int dofs) { return dofs <= 27 ? CellThreads::one : CellThreads::warp; }

/// Input of lma on a GPU: data for the element matrices, and the patches.
struct LmaInputs {
  CellPatches patches;
  FactorInputs factors;
  Vector<double> gradients;  ///< of the basis: points x reference axes x dofs, on the GPU
  /// Matrices that are stored, in their order: the cell of each, -1 for none. On the host.
  Vector<std::int32_t> cell_of_matrix;
  /// Index of each slot's matrix where congruent cells store one; else empty, and each slot has its own.
  Vector<std::int32_t> matrix_of_slot;
  /// Matrices of cells with Robin terms: their places among all, and their entries, each packed as in
  /// CellEvaluator::matrix. On the host.
  Vector<std::int64_t> robin_places;
  Vector<double> robin_matrices;

  bool stored_once() const { return matrix_of_slot.size() > 0; }
};

/// All matrices, in the working precision, assembled on the GPU in double precision.
template <std::floating_point T>
Vector<T> assemble_on_gpu(const LmaInputs& inputs);

}  // namespace femcg::operators

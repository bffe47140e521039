#pragma once

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/forms/cell_factors.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// Threads per cell, by its number of dofs.
enum class CellThreads {
  one,  ///< one thread: x_e, y_e in registers
  warp  ///< one warp: a lane has every 32nd row
};

/// A thread has no registers for more dofs than those of a hexahedron of degree 2.
constexpr CellThreads lma_cell_threads(int dofs) { return dofs <= 27 ? CellThreads::one : CellThreads::warp; }

/// Input of lma on a GPU: data for the element matrices, and the patches.
struct LmaInputs {
  CellPatches patches;
  FactorInputs factors;
  Vector<double> gradients;  ///< of the basis: [points][reference axes][dofs], on the GPU
  /// The cell of each stored matrix, -1 for none. On the host.
  Vector<std::int32_t> cell_of_matrix;
  /// Index of each slot's matrix if congruent cells store one; else empty, and each slot has its own.
  Vector<std::int32_t> matrix_of_slot;
  /// Matrices of cells with Robin terms: their indices among all matrices, and their entries, packed as in
  /// CellEvaluator::matrix. On the host.
  Vector<std::int64_t> robin_places;
  Vector<double> robin_matrices;

  bool stored_once() const { return matrix_of_slot.size() > 0; }
};

/// Assembles all matrices on the GPU, in double precision, and stores them in the working precision.
template <std::floating_point T>
Vector<T> assemble_on_gpu(const LmaInputs& inputs);

}  // namespace femcg::operators

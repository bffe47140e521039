#pragma once

// D_q at one quadrature point of one cell, by one thread: for kernels that store the factors and for those that use
// them on the fly.

#include "operators/backend/launch.cuh"
#include "operators/forms/cell_factors.hpp"

namespace femcg::operators::cuda {

/// Coordinates of the nodes of cells.
struct NodesOfCells {
  int nodes;                       ///< of a cell
  const double* coordinates;       ///< FactorInputs; null if `box` gives them
  const std::int32_t* cell_nodes;  ///< FactorInputs; null if `box` gives them
  mesh::BoxNodes box;

  template <int d>
  __device__ void operator()(std::int64_t cell, int a, double (&point)[d]) const {
    if (coordinates == nullptr) {
      const mesh::GridIndex at = box.vertex(static_cast<std::int32_t>(cell), a);
#pragma unroll
      for (int axis = 0; axis < d; ++axis) point[axis] = box.coordinate(at, axis);
      return;
    }
    const std::int64_t node = cell_nodes != nullptr ? __ldg(cell_nodes + cell * nodes + a)
                                                    : box.node(box.vertex(static_cast<std::int32_t>(cell), a));
#pragma unroll
    for (int axis = 0; axis < d; ++axis) point[axis] = __ldg(coordinates + node * d + axis);
  }
};

inline NodesOfCells nodes_of_cells(const FactorInputs& inputs) {
  return {inputs.nodes, inputs.coordinates.size() > 0 ? inputs.coordinates.data() : nullptr,
          inputs.cell_nodes.size() > 0 ? inputs.cell_nodes.data() : nullptr, inputs.box};
}

/// FactorInputs as plain pointers.
struct FactorSource {
  int points, nodes;
  const double* gradients;
  const double* weights;
  NodesOfCells node_points;
  const double* diffusion;
  int diffusion_entries;
  std::int64_t diffusion_per_cell, diffusion_per_point;
};

inline FactorSource pointers(const FactorInputs& inputs) {
  return {inputs.points,
          inputs.nodes,
          inputs.gradients.data(),
          inputs.weights.data(),
          nodes_of_cells(inputs),
          inputs.diffusion.data(),
          inputs.diffusion_entries,
          inputs.diffusion_per_cell,
          inputs.diffusion_per_point};
}

/// Computes J^-1, row by row; returns |J|.
__device__ inline double invert(const double (&m)[4], double (&inverse)[4]) {
  const double determinant = m[0] * m[3] - m[1] * m[2], scale = 1 / determinant;
  inverse[0] = scale * m[3];
  inverse[1] = -scale * m[1];
  inverse[2] = -scale * m[2];
  inverse[3] = scale * m[0];
  return determinant;
}
__device__ inline double invert(const double (&m)[9], double (&inverse)[9]) {
  const double determinant =
      m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
  const double scale = 1 / determinant;
#pragma unroll
  for (int i = 0; i < 3; ++i)
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, e = (i + 2) % 3;
      inverse[3 * i + j] = scale * (m[3 * a + c] * m[3 * b + e] - m[3 * a + e] * m[3 * b + c]);
    }
  return determinant;
}

/// Computes D_q = w_q |J| J^-1 kappa J^-T at point q, the upper triangle row by row.
template <int d>
__device__ void factors_at(const FactorSource& from, std::int32_t cell, int q, double (&factors)[d * (d + 1) / 2]) {
  const double* gradients = from.gradients + q * d * from.nodes;
  double jacobian[d * d] = {}, inverse[d * d];
  for (int a = 0; a < from.nodes; ++a) {
    double at[d];
    from.node_points(cell, a, at);
#pragma unroll
    for (int i = 0; i < d; ++i)
#pragma unroll
      for (int j = 0; j < d; ++j) jacobian[i * d + j] += at[i] * __ldg(gradients + j * from.nodes + a);
  }
  const double measure = __ldg(from.weights + q) * invert(jacobian, inverse);
  const double* diffusion = from.diffusion + from.diffusion_per_cell * cell + from.diffusion_per_point * q;
  if (from.diffusion_entries > 1) {
    double tensor[upper_size(d)];
#pragma unroll
    for (int e = 0; e < upper_size(d); ++e) tensor[e] = measure * __ldg(diffusion + e);
    transform_tensor<d>(inverse, tensor, factors);
    return;
  }
  const double scale = measure * __ldg(diffusion);
  int entry = 0;
#pragma unroll
  for (int a = 0; a < d; ++a)
#pragma unroll
    for (int b = a; b < d; ++b) {
      double sum = 0;
#pragma unroll
      for (int k = 0; k < d; ++k) sum += inverse[a * d + k] * inverse[b * d + k];
      factors[entry++] = scale * sum;
    }
}

}  // namespace femcg::operators::cuda

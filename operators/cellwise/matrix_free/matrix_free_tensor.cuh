#pragma once

// matrix-free on quadrilaterals and hexahedra, degree by degree.

#include "operators/cellwise/matrix_free/cells/hexahedron_cells.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_any_points.cuh"
#include "operators/cellwise/matrix_free/matrix_free_on_gpu.cuh"

namespace femcg::operators {

template <class T, int n>
cuda::LineTables<T, n> line_tables(const MatrixFreeInputs& inputs) {
  cuda::LineTables<T, n> tables;
  for (int q = 0; q < n; ++q)
    for (int a = 0; a < n; ++a) {
      tables.interpolate[q][a] = static_cast<T>(inputs.interpolate[static_cast<std::size_t>(q * n + a)]);
      tables.differentiate[q][a] = static_cast<T>(inputs.differentiate[static_cast<std::size_t>(q * n + a)]);
    }
  return tables;
}

template <class T, int n>
cuda::LineMatrices<T, n> line_matrices(const MatrixFreeInputs& inputs) {
  cuda::LineMatrices<T, n> matrices;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      double mass = 0, stiffness = 0;
      for (int q = 0; q < n; ++q) {
        const auto at_a = static_cast<std::size_t>(q * n + a), at_b = static_cast<std::size_t>(q * n + b);
        const double weight = inputs.weights[static_cast<std::size_t>(q)];
        mass += weight * inputs.interpolate[at_a] * inputs.interpolate[at_b];
        stiffness += weight * inputs.interpolate_derivative[at_a] * inputs.interpolate_derivative[at_b];
      }
      matrices.mass[a][b] = static_cast<T>(mass);
      matrices.stiffness[a][b] = static_cast<T>(stiffness);
    }
  return matrices;
}

/// Tables along a line of a kernel, by geometry.
template <class T, int n, CellGeometry kind>
cuda::TablesOf<T, n, kind> tables_of(const MatrixFreeInputs& inputs) {
  if constexpr (kind == CellGeometry::boxes)
    return line_matrices<T, n>(inputs);
  else
    return line_tables<T, n>(inputs);
}

template <class T, int d, int n, CellGeometry kind>
cuda::TensorGeometry<T, d, n, kind> tensor_geometry(const MatrixFreeInputs& inputs, const CellData<T>& data) {
  cuda::TensorGeometry<T, d, n, kind> geometry;
  geometry.data = data.factors.data();
  for (std::size_t q = 0; q < n; ++q) {
    if constexpr (kind == CellGeometry::vertices) geometry.points[q] = static_cast<T>(inputs.points[q]);
    if constexpr (kind == CellGeometry::affine || kind == CellGeometry::vertices)
      geometry.weights[q] = static_cast<T>(inputs.weights[q]);
  }
  if constexpr (may_share(kind)) geometry.classes = data.class_of_slot();
  return geometry;
}

template <class T, int d, int n, CellGeometry kind>
std::unique_ptr<Operator<T>> make_tensor(const MatrixFreeInputs& inputs) {
  constexpr std::int64_t points = d == 2 ? n * n : n * n * n;
  // Interpolation, derivatives, their transposes, and D; or mass and stiffness matrices along lines.
  constexpr std::int64_t operations =
      kind == CellGeometry::pairs   ? 2 * pairs_of(points)
      : kind == CellGeometry::boxes ? (3 * d - 2) * n * points
                                    : 4 * d * n * points + (kind == CellGeometry::vertices ? 3 : 1) * d * d * points;
  using Cells = cuda::TensorCells<T, d, n, kind>;
  CellData<T> data(inputs);
  const Cells cells{tables_of<T, n, kind>(inputs), tensor_geometry<T, d, n, kind>(inputs, data)};
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, Cells::scratch_size, operations);
}

template <class T, int n>
cuda::BasisTables<T, n> basis_tables(const MatrixFreeInputs& inputs) {
  cuda::BasisTables<T, n> tables{};
  tables.points = static_cast<int>(inputs.points.size());
  for (int q = 0; q < tables.points; ++q)
    for (int a = 0; a < n; ++a) {
      const auto at = static_cast<std::size_t>(q * n + a);
      tables.interpolate[q][a] = static_cast<T>(inputs.interpolate[at]);
      tables.differentiate[q][a] = static_cast<T>(inputs.interpolate_derivative[at]);
    }
  return tables;
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_tensor_any_points(const MatrixFreeInputs& inputs) {
  const int m = static_cast<int>(inputs.points.size());
  CellData<T> data(inputs);
  if constexpr (d == 2) {
    using Cells = cuda::QuadrilateralCellsAnyPoints<T, n>;
    const Cells cells{basis_tables<T, n>(inputs), data.factors.data()};
    return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, 0, Cells::operations(m));
  } else {
    using Cells = cuda::HexahedronCellsAnyPoints<T, n>;
    const int at_once = Cells::most_cells_at_once(m);
    const Cells cells{basis_tables<T, n>(inputs), data.factors.data(), at_once};
    return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, at_once * Cells::room_size(m),
                                                       Cells::operations(m));
  }
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_tensor(const MatrixFreeInputs& inputs) {
  if constexpr (n == 2)
    if (inputs.geometry == CellGeometry::pairs) return make_tensor<T, d, n, CellGeometry::pairs>(inputs);
  if (inputs.points.size() != n) return make_tensor_any_points<T, d, n>(inputs);
  switch (inputs.geometry) {
    case CellGeometry::boxes:
      return make_tensor<T, d, n, CellGeometry::boxes>(inputs);
    case CellGeometry::affine:
      return make_tensor<T, d, n, CellGeometry::affine>(inputs);
    case CellGeometry::vertices:
      return make_tensor<T, d, n, CellGeometry::vertices>(inputs);
    case CellGeometry::stored:
    case CellGeometry::pairs:
    case CellGeometry::mixed:  // simplices only
      break;
  }
  return make_tensor<T, d, n, CellGeometry::stored>(inputs);
}

template <class T, int d>
std::unique_ptr<Operator<T>> make_tensor(const MatrixFreeInputs& inputs) {
  switch (inputs.degree) {
    case 1:
      return make_tensor<T, d, 2>(inputs);
    case 2:
      return make_tensor<T, d, 3>(inputs);
    case 3:
      return make_tensor<T, d, 4>(inputs);
    default:
      return make_tensor<T, d, 5>(inputs);
  }
}

}  // namespace femcg::operators

#pragma once

#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "mesh/function_space.hpp"

namespace femcg::mesh {

/// A named field of numbers per dof (point data) or one a cell (cell data).
struct PointField {
  std::string name;
  std::span<const double> values;  ///< coefficients in the space's basis, dof_count x components
  std::string unit = {};           ///< kept as VTK's UNITS_LABEL of the array, where it is not empty
  int components = 1;              ///< 1, or 3 of a vector
};
struct CellField {
  std::string name;
  std::span<const std::int32_t> values;  ///< cell_count
};

/// Reference coordinates (dimension x size) of VTK's Lagrange cell of this shape and degree, in VTK's own node order.
Eigen::MatrixXd vtk_lagrange_points(CellShape shape, int degree);

/// Writes an unstructured grid of VTK Lagrange cells (types 68 to 72) at the degree of the space: file version 2.2,
/// appended raw data, zlib-compressed blocks. The file appears whole or not at all: it is written beside its place,
/// flushed and renamed. Throws std::system_error where it cannot be written, std::invalid_argument for a field of
/// another length.
void write_vtu(const std::filesystem::path& file, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields);
/// The same to a stream.
void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields);

}  // namespace femcg::mesh

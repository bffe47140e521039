#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "mesh/base/dense_matrix.hpp"
#include "mesh/dofs/function_space.hpp"

namespace femcg::mesh {

/// A named field with one value per dof (point data) or per cell (cell data).
struct PointField {
  std::string name;
  std::span<const double> values;  ///< coefficients in the space's basis, [dof_count]
  std::string unit = {};           ///< stored as VTK's UNITS_LABEL of the array unless empty
};
struct CellField {
  std::string name;
  std::span<const std::int32_t> values;  ///< cell_count
};
/// Texts of a whole file, VTK's field data: entry i is the meaning of value i of a cell field.
struct TextField {
  std::string name;
  std::vector<std::string> texts;
};

/// Writes the values at the nodes of a cell in VTK's order, [nodes][components]. May have scratch memory.
using NodeValues = std::function<void(std::int64_t cell, std::span<double> values)>;

/// A field given cell by cell, possibly discontinuous, computed while it is written.
struct CellwiseField {
  std::string name;
  std::function<NodeValues()> make;  ///< called once by each thread
  int components = 1;                ///< 1, or 3 for a vector
  std::string unit = {};
};

/// VTK Lagrange cells of one type that share no points.
struct SeparateCells {
  std::uint8_t vtk_type;
  std::int64_t count;
  int nodes;                           ///< per cell
  std::function<NodeValues()> points;  ///< x, y, z of the nodes
};

/// For degree 1, Lagrange and linear cells are equivalent; every viewer supports the linear ones.
enum class CellKind { lagrange, linear };
/// VTK's number of a Lagrange cell of this shape, 69 to 72, or of a linear one: 5, 9, 10 or 12.
std::uint8_t vtk_cell_type(CellShape shape, CellKind kind = CellKind::lagrange);
/// VTK cell types of a Lagrange curve and of a line.
inline constexpr std::uint8_t vtk_lagrange_curve = 68, vtk_line = 3;

/// Reference coordinates (dimension x size) of VTK's Lagrange cell of this shape and degree, in VTK's own node order.
DenseMatrix vtk_lagrange_points(CellShape shape, int degree);
/// Points of a Lagrange curve on [0, 1]: its ends, then the inner points.
DenseMatrix vtk_lagrange_points_of_curve(int degree);

/// Lattice node at each of these points of the reference cell (dimension x count).
std::vector<int> lattice_nodes_at(const Lattice& lattice, const DenseMatrix& places);
/// The same at each of VTK's nodes.
std::vector<int> lattice_nodes_in_vtk_order(const Lattice& lattice);
/// First cell of each dof. A dof is evaluated in this cell only, so that results do not depend on the threads.
std::vector<std::int32_t> first_cells(const FunctionSpace& space);

/// Writes an unstructured grid of VTK Lagrange cells (types 68 to 72) at the degree of the space: file version 2.2,
/// appended raw data, zlib-compressed blocks. The file is written whole or not at all: under a temporary name, then
/// flushed and renamed. Throws std::system_error if it cannot be written, std::invalid_argument for a field of the
/// wrong length.
void write_vtu(const std::filesystem::path& file, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields);
/// The same to a stream, which must be able to seek back to its current position.
void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {});

/// The same for cellwise fields that are continuous; a point's value is taken from its first cell. Linear cells require
/// a space of degree 1.
void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {},
               CellKind kind = CellKind::lagrange);

/// The same for cells that share no points. Needs memory for two compressed arrays of the file only.
void write_vtu(std::ostream& stream, const SeparateCells& cells, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {});

}  // namespace femcg::mesh

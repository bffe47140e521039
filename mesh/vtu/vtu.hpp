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

/// A named field of one number per dof (point data) or a cell (cell data).
struct PointField {
  std::string name;
  std::span<const double> values;  ///< coefficients in the space's basis, dof_count
  std::string unit = {};           ///< kept as VTK's UNITS_LABEL of the array, where it is not empty
};
struct CellField {
  std::string name;
  std::span<const std::int32_t> values;  ///< cell_count
};
/// Texts that belong to a whole file, which is field data in VTK: entry i is what the number i of a cell field stands
/// for.
struct TextField {
  std::string name;
  std::vector<std::string> texts;
};

/// Writes the numbers at the nodes of a cell, in VTK's order: nodes x components, row by row. May keep scratch memory.
using NodeValues = std::function<void(std::int64_t cell, std::span<double> values)>;

/// A field given cell by cell, which may jump from one to the next. It is computed while it is written.
struct CellwiseField {
  std::string name;
  std::function<NodeValues()> make;  ///< called by each thread
  int components = 1;                ///< 1, or 3 of a vector
  std::string unit = {};
};

/// VTK Lagrange cells of one kind, each with points of its own.
struct SeparateCells {
  std::uint8_t vtk_type;
  std::int64_t count;
  int nodes;                           ///< of each cell
  std::function<NodeValues()> points;  ///< x, y, z of the nodes
};

/// Cells of degree 1 are the same as either: linear ones are those that every viewer draws at once.
enum class CellKind { lagrange, linear };
/// VTK's number of a Lagrange cell of this shape, 69 to 72, or of a linear one: 5, 9, 10 or 12.
std::uint8_t vtk_cell_type(CellShape shape, CellKind kind = CellKind::lagrange);
/// VTK cell types of a Lagrange curve and of a line.
inline constexpr std::uint8_t vtk_lagrange_curve = 68, vtk_line = 3;

/// Reference coordinates (dimension x size) of VTK's Lagrange cell of this shape and degree, in VTK's own node order.
DenseMatrix vtk_lagrange_points(CellShape shape, int degree);
/// Points of a Lagrange curve on [0, 1]: its ends, then the inner points.
DenseMatrix vtk_lagrange_points_of_curve(int degree);

/// The lattice node at each of these places of the reference cell (dimension x count).
std::vector<int> lattice_nodes_at(const Lattice& lattice, const DenseMatrix& places);
/// At each of VTK's nodes.
std::vector<int> lattice_nodes_in_vtk_order(const Lattice& lattice);
/// The first cell of each dof. Only there is a dof evaluated, so that what is found does not depend on the threads.
std::vector<std::int32_t> first_cells(const FunctionSpace& space);

/// Writes an unstructured grid of VTK Lagrange cells (types 68 to 72) at the degree of the space: file version 2.2,
/// appended raw data, zlib-compressed blocks. The file appears whole or not at all: it is written beside its place,
/// flushed and renamed. Throws std::system_error where it cannot be written, std::invalid_argument for a field of
/// another length.
void write_vtu(const std::filesystem::path& file, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields);
/// The same to a stream that can go back to where it is now.
void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const PointField> point_fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {});

/// The same of fields that are continuous on the cells of the space; what the first of a point's cells says is written.
/// Linear cells are for a space of degree 1.
void write_vtu(std::ostream& stream, const FunctionSpace& space, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {},
               CellKind kind = CellKind::lagrange);

/// Writes a grid of cells that share no points, likewise. Memory is needed for two arrays of the file as they are
/// compressed, and nothing else.
void write_vtu(std::ostream& stream, const SeparateCells& cells, std::span<const CellwiseField> fields,
               std::span<const CellField> cell_fields, std::span<const TextField> text_fields = {});

}  // namespace femcg::mesh

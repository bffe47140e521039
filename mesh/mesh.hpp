#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/box_nodes.hpp"
#include "mesh/cell_indices.hpp"
#include "mesh/element/cell_shape.hpp"

namespace femcg::mesh {

/// One facet of the boundary: facet number `facet` (mesh::facets) of a cell.
struct BoundaryFacet {
  std::int32_t cell;
  std::int32_t facet;
};

/// Named part of the boundary.
struct BoundaryGroup {
  std::string name;
  std::vector<BoundaryFacet> facets;
};

/// Nodes of one cell in lattice order.
using CellNodes = CellIndices<8>;

/// Buffer for the points of a cell's nodes, [nodes][dimension].
using CellPoints = std::array<double, 3 * (max_degree + 1) * (max_degree + 1) * (max_degree + 1)>;

/// Cells of one shape and one geometric order, with regions and named boundary parts.
///
/// A cell's nodes are the Lagrange lattice of the mesh's order in lexicographic order (Lattice), equally spaced on the
/// reference cell. A node that no cell uses does not exist here: readers drop them.
///
/// A box is an implicit grid without lists of nodes; nodes() and point() work in either case.
struct Mesh {
  CellShape shape = CellShape::quadrilateral;
  int order = 1;                           ///< geometric order, 1 to 4
  std::vector<double> coordinates;         ///< [nodes][dimension]; empty for an undistorted box
  std::vector<std::int32_t> cell_nodes;    ///< [cells][lattice_size(shape, order)]; empty for a box
  std::optional<BoxNodes> box;             ///< implicit grid that replaces empty lists
  std::vector<std::int32_t> cell_regions;  ///< index into region_names of each cell
  /// True for the half plane x > 0 of a body of revolution about the line x = 0: integrals over cells and facets have
  /// the factor 2 pi x.
  bool axisymmetric = false;
  bool follows_curve = false;             ///< cells are ordered along the Hilbert curve, or refined from such cells
  std::vector<std::string> region_names;  ///< at least one
  std::vector<BoundaryGroup> boundaries;  ///< possibly overlapping; facets in no group are the unnamed boundary
  std::vector<BoundaryFacet> cuts;        ///< facets shared with cells of other processes: no boundary; sorted
  std::vector<std::string> warnings;      ///< what a reader repaired or accepted, one sentence each

  int dimension() const { return mesh::dimension(shape); }
  int nodes_per_cell() const { return lattice_size(shape, order); }
  std::int32_t cell_count() const { return static_cast<std::int32_t>(cell_regions.size()); }
  std::int32_t node_count() const {
    return box ? box->node_count() : static_cast<std::int32_t>(coordinates.size() / dimension());
  }
  CellNodes nodes(std::int32_t cell) const {
    const auto count = static_cast<std::size_t>(nodes_per_cell());
    if (!box) return CellNodes(std::span(cell_nodes).subspan(static_cast<std::size_t>(cell) * count, count));
    return {count,
            [&](std::int32_t* nodes) { box->for_vertices(cell, [&](const auto& at) { *nodes++ = box->node(at); }); }};
  }
  /// Point of a node; z = 0 in 2D.
  std::array<double, 3> point(std::int32_t node) const {
    std::array<double, 3> x{};
    write_point(node, x.data());
    return x;
  }
  /// Writes the points of a cell's nodes, [nodes][dimension] (CellPoints).
  void write_points(std::int32_t cell, double* to) const {
    const int d = dimension();
    if (is_uniform_box())
      box->for_vertices(cell, [&](const GridIndex& at) {
        for (int axis = 0; axis < d; ++axis) *to++ = box->coordinate(at, axis);
      });
    else
      for (const std::int32_t node : nodes(cell)) {
        write_point(node, to);
        to += d;
      }
  }
  /// True for an undistorted box, whose coordinates are not stored.
  bool is_uniform_box() const { return box && coordinates.empty(); }
  /// Converts an implicit grid to explicit lists, so that nodes can be changed.
  void list_nodes();
  /// Bytes of the explicit lists of nodes.
  std::int64_t bytes_of_nodes() const {
    return std::ssize(coordinates) * std::int64_t{sizeof(double)} +
           std::ssize(cell_nodes) * std::int64_t{sizeof(std::int32_t)};
  }

 private:
  void write_point(std::int32_t node, double* to) const {
    const int d = dimension();
    if (is_uniform_box()) {
      const GridIndex at = box->place_of_node(node);
      for (int axis = 0; axis < d; ++axis) to[axis] = box->coordinate(at, axis);
    } else {
      for (int axis = 0; axis < d; ++axis) to[axis] = coordinates[std::int64_t{node} * d + axis];
    }
  }
};

/// Facets that belong to one cell only and are no cuts, in the order of cells. Throws std::runtime_error if three or
/// more cells share a facet.
std::vector<BoundaryFacet> boundary_facets(const Mesh& mesh);

/// Number from 0 of each cell's connected component (cells joined by a shared vertex).
std::vector<std::int32_t> cell_components(const Mesh& mesh);

/// Throws std::runtime_error if there are no cells, a list has the wrong length, the index of a node, region or facet
/// is out of range, or a coordinate is not finite. Does not check the lists of a box, which are empty.
void check_indices(const Mesh& mesh);

/// Repairs and checks a mesh. Reorients cells that are merely mirrored (Jacobian determinant negative everywhere). Adds
/// `warnings` for several components and the findings of check_fit (fit.hpp), which also throws. Throws
/// std::runtime_error: if the determinant vanishes or changes sign within a cell, with the number of such cells and the
/// centres and least determinants of the first ten; if two cells lie on one side of a facet that they share, so that
/// one is inside out rather than mirrored (tested only if there are mirrored cells), with centres; if a coordinate is
/// not finite; if an index is out of range; if there are no cells.
void validate(Mesh& mesh);

}  // namespace femcg::mesh

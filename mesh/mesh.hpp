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

/// One facet of the boundary: the facet'th facet (ReferenceCell::facets) of a cell.
struct BoundaryFacet {
  std::int32_t cell;
  std::int32_t facet;
};

/// A named part of the boundary.
struct BoundaryGroup {
  std::string name;
  std::vector<BoundaryFacet> facets;
};

/// The nodes of one cell in lattice order.
using CellNodes = CellIndices<8>;

/// Room for their points, nodes x dimension, row by row.
using CellPoints = std::array<double, 3 * (max_degree + 1) * (max_degree + 1) * (max_degree + 1)>;

/// Cells of one shape and one geometric order, with regions and named boundary parts.
///
/// A cell's nodes are the Lagrange lattice of the mesh's order in lexicographic order (Lattice), equally spaced on the
/// reference cell. A node that no cell uses does not exist here: readers drop them.
///
/// A box's nodes need no lists: nodes() and point() tell them either way.
struct Mesh {
  CellShape shape = CellShape::quadrilateral;
  int order = 1;                           ///< geometric order, 1 to 4
  std::vector<double> coordinates;         ///< nodes x dimension, row by row; empty of a box that is not distorted
  std::vector<std::int32_t> cell_nodes;    ///< cells x lattice_size(shape, order), row by row; empty of a box
  std::optional<BoxNodes> box;             ///< what is said in place of empty lists
  std::vector<std::int32_t> cell_regions;  ///< index into region_names, one a cell
  bool follows_curve = false;              ///< cells come along the Hilbert curve, or were split from such
  std::vector<std::string> region_names;   ///< at least one
  std::vector<BoundaryGroup> boundaries;   ///< disjoint or not; facets in no group are the unnamed boundary
  std::vector<BoundaryFacet> cuts;         ///< where cells of other processes go on: no boundary; sorted
  std::vector<std::string> warnings;       ///< what a reader noticed and repaired or let pass, one sentence each

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
  /// z = 0 in 2D.
  std::array<double, 3> point(std::int32_t node) const {
    std::array<double, 3> x{};
    write_point(node, x.data());
    return x;
  }
  /// Writes the points of a cell's nodes, as CellPoints has them.
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
  /// A box that is not distorted, whose coordinates are not listed.
  bool is_uniform_box() const { return box && coordinates.empty(); }
  /// Lists what a box says, for whoever changes it.
  void list_nodes();
  /// Bytes of the lists of nodes.
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

/// All facets that belong to one cell only and are no cuts, in the order of cells. Throws std::runtime_error where
/// three or more cells share a facet.
std::vector<BoundaryFacet> boundary_facets(const Mesh& mesh);

/// The number of the connected component (cells joined by a shared vertex) of each cell, from 0.
std::vector<std::int32_t> cell_components(const Mesh& mesh);

/// Throws std::runtime_error where there are no cells, a list has another length than it must, an index of a node, a
/// region or a facet is out of range, or a coordinate is not finite. Not of boxes, whose lists are empty.
void check_indices(const Mesh& mesh);

/// Makes a mesh fit for computing, or says why it is not. Cells that are merely mirrored (Jacobian determinant negative
/// everywhere) are turned round. Several components are counted in `warnings`, and what check_fit (fit.hpp) finds,
/// which also throws. Throws std::runtime_error where the determinant vanishes or changes sign within a cell, with the
/// number of such cells and the centres and least determinants of the first ten; where two cells lie on one side of a
/// facet that they share, so that one is inside out rather than mirrored (only looked for where there are such cells),
/// likewise with centres; where a coordinate is not finite; where an index is out of range; and where there are no
/// cells.
void validate(Mesh& mesh);

}  // namespace femcg::mesh

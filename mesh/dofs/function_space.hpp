#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/cell_indices.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/mesh.hpp"
#include "mesh/structured_grid.hpp"

namespace femcg::mesh {

class LagrangeBasis;

/// The dofs of one cell in lattice order.
using CellDofs = CellIndices<(2 * max_degree + 1) * (2 * max_degree + 1) * (2 * max_degree + 1)>;

/// Continuous Lagrange space of one degree on a mesh: the degree of freedom (dof) at each lattice node of each cell.
///
/// Dofs on a shared edge or face are identified through the global numbers of its vertices, so that any local
/// orientation is right. Dofs are numbered in the order in which the cells first visit them. On a structured grid they
/// are computed from the cell's grid index, and not stored.
class FunctionSpace {
 public:
  /// `degree`: 1 to 8 (above 4 only for refinement and output). The mesh must outlive the space. Throws
  /// std::length_error, before allocating, if there are more than 2^31 - 1 dofs.
  FunctionSpace(const Mesh& mesh, int degree, NodeFamily family = NodeFamily::gauss_lobatto);
  /// The space of a lower degree on the mesh of `finer`. Numbers its dofs as the constructor above does, but faster:
  /// the dofs of `finer` identify shared edges and faces.
  FunctionSpace(const FunctionSpace& finer, int degree);
  /// Restriction of the space `whole` to some of its cells, whose mesh is `part` (mesh_of_cells); the dofs keep their
  /// order.
  FunctionSpace(const Mesh& part, const FunctionSpace& whole, std::span<const std::int32_t> cells);

  const Mesh& mesh() const { return *mesh_; }
  const LagrangeBasis& basis() const { return *basis_; }
  int degree() const { return degree_; }
  int dofs_per_cell() const { return dofs_per_cell_; }
  std::int32_t dof_count() const { return dof_count_; }
  CellDofs dofs(std::int32_t cell) const {
    if (!grid_) return CellDofs(explicit_indices(cell));
    return {static_cast<std::size_t>(dofs_per_cell_), [&](std::int32_t* dofs) { grid_->write(cell, dofs); }};
  }
  /// Dof at one lattice node of a cell.
  std::int32_t dof(std::int32_t cell, int node) const {
    return grid_ ? grid_->tables(grid_->numbers().data())(cell, node) : explicit_indices(cell)[std::size_t(node)];
  }
  /// Greatest dof of the cells [first, last); on a structured grid possibly of earlier cells too. -1 without cells.
  std::int32_t greatest_dof(std::int32_t first, std::int32_t last) const;
  /// Dofs of all cells, [cells][dofs_per_cell].
  Array<std::int32_t> list_dofs() const;
  /// The same if they are stored; empty on a structured grid.
  std::span<const std::int32_t> listed_dofs() const { return cell_dofs_; }
  /// The structured grid, from which a cell's dofs are computed; null for any other mesh.
  const GridDofs* grid() const { return grid_.get(); }
  /// Lattice nodes on the closure of a facet.
  const std::vector<int>& facet_nodes(int facet) const { return facet_nodes_[facet]; }
  /// Renumbers: dof i becomes order[i].
  void renumber(std::span<const std::int32_t> order);
  /// Points of the dofs in space, [dofs][dimension]: the basis' nodes mapped by the cell geometry.
  std::vector<double> dof_points() const;

 private:
  FunctionSpace(const Mesh& mesh, int degree, NodeFamily family, const FunctionSpace* finer);
  std::span<const std::int32_t> explicit_indices(std::int32_t cell) const {
    return {cell_dofs_.data() + std::int64_t{cell} * dofs_per_cell_, static_cast<std::size_t>(dofs_per_cell_)};
  }

  const Mesh* mesh_;
  std::shared_ptr<const LagrangeBasis> basis_;  ///< shared by copies
  int degree_, dofs_per_cell_;
  std::int32_t dof_count_ = 0;
  std::shared_ptr<const GridDofs> grid_;  ///< on a structured grid; shared by copies
  Array<std::int32_t> cell_dofs_;         ///< on any other mesh, [cells][dofs_per_cell]
  std::vector<std::vector<int>> facet_nodes_;
};

}  // namespace femcg::mesh

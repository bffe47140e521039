#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mesh/element/reference_cell.hpp"
#include "mesh/grid_indexing.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Number of cells of a structured grid along each axis; 1 along z in 2D.
using GridCells = GridIndex;

/// Grid of a mesh of quadrilaterals or hexahedra whose cells and nodes are numbered row by row, whatever the
/// coordinates; empty for any other mesh. Shared edges and faces of such a mesh need no search.
std::optional<GridCells> structured_grid(const Mesh& mesh);

/// The result of unshared_facets, computed from the grid.
std::vector<BoundaryFacet> facets_around(const GridCells& grid, int dimension);

/// Dofs of all cells of a grid from a few tables, which can be copied to a GPU. Entries depend on a cell's state:
/// first, second or later along each axis. Each dof has an owner, the cell itself or a preceding one (one bit per
/// axis). The first dof of an owner is a constant plus the sum of the cell's grid index times steps, modulo 2^32.
struct GridDofTables {
  static constexpr int states = 3, owners = 8;  ///< states per axis; owners of a cell's dofs
  static constexpr int numbers = 4;             ///< per owner: the first dof, and the steps along the axes

  GridIndexing places;
  int dimension = 0, dofs = 0;               ///< dofs of a cell
  const std::uint32_t* of_owners = nullptr;  ///< [states z][y][x][numbers][owners]
  const std::uint32_t* owner_of = nullptr;   ///< [states][dofs]: owner of a lattice node
  const std::uint32_t* offset_of = nullptr;  ///< [states][dofs]: number of its owner's dofs before it

  constexpr int state(const GridIndex& at) const {
    int state = 0;
    for (int axis = dimension - 1; axis >= 0; --axis)
      state = states * state + (at[axis] < states ? at[axis] : states - 1);
    return state;
  }
  constexpr std::int32_t operator()(std::int32_t cell, int a) const {
    const GridIndex at = places(cell);
    const int here = state(at);
    const std::uint32_t* of_owner = of_owners + here * numbers * owners + owner_of[here * dofs + a];
    std::uint32_t dof = of_owner[0] + offset_of[here * dofs + a];
    for (int axis = 0; axis < dimension; ++axis)
      dof += static_cast<std::uint32_t>(at[axis]) * of_owner[(axis + 1) * owners];
    return static_cast<std::int32_t>(dof);
  }
};

/// Dofs of all cells of a grid, [cells][lattice nodes], numbered as FunctionSpace does: cell by cell along the lattice;
/// the dofs of an edge, a face or the interior are contiguous from its first visit.
class GridDofs {
 public:
  GridDofs(const GridCells& grid, CellShape shape, int degree);

  std::int64_t count() const { return first_of(grid_[0], grid_[1] - 1, grid_[2] - 1); }
  /// Number of dofs of the cells before this one.
  std::int64_t before(std::int32_t cell) const {
    const GridIndex at = places_(cell);
    return first_of(at[0], at[1], at[2]);
  }
  /// Writes the dofs of a cell, [lattice nodes]. Requires at most 2^31 - 1 dofs.
  void write(std::int32_t cell, std::int32_t* dofs) const;

  /// All tables, one after the other; tables(begin) refers to a copy of them at `begin`.
  std::span<const std::uint32_t> numbers() const { return numbers_; }
  GridDofTables tables(const std::uint32_t* begin) const;

 private:
  static constexpr int states = GridDofTables::states, all_states = states * states * states,
                       owners = GridDofTables::owners;

  /// Dofs that a cell numbers first if neighbours precede it along some axes (one bit each): for each lattice node its
  /// number among the new dofs, or -1 if a neighbour has numbered it.
  std::vector<std::int32_t> new_dofs(const Lattice& lattice, int before) const;
  /// Writes the table entries of one state.
  void describe_state(const Lattice& lattice, int state, const std::array<std::vector<std::int32_t>, 8>& new_dofs);
  /// First dof that a cell numbers; for i past the end of a row, the first dof after that row.
  std::int64_t first_of(std::int32_t i, std::int32_t j, std::int32_t k) const;

  GridCells grid_;
  GridIndexing places_;
  int d_, degree_, dofs_;
  std::array<std::int64_t, 8> given_out_{};            ///< new dofs of a cell, by the axes along which cells precede it
  std::array<std::int64_t, 8> of_row_{}, of_plane_{};  ///< the same for all cells along x, and along x and y
  std::vector<std::uint32_t> numbers_;
};

}  // namespace femcg::mesh

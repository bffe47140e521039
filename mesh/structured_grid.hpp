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

/// The cells of a structured grid along each axis, 1 along z in the plane.
using GridCells = GridIndex;

/// The grid of a mesh of quadrilaterals or hexahedra whose cells and nodes are numbered row by row, wherever the nodes
/// lie; nothing for any other mesh. Shared edges and faces of such a mesh are known without a search.
std::optional<GridCells> structured_grid(const Mesh& mesh);

/// The facets that unshared_facets finds, computed from the grid.
std::vector<BoundaryFacet> facets_around(const GridCells& grid, int dimension);

/// The dofs of all cells of a grid by a few tables, of which a GPU may have a copy. What a cell has depends on its
/// state: whether it is the first, the second or a later one along each axis. A dof is its owner's, a cell before or
/// the same one along each axis (a bit each): the first that an owner gives out is a number and the sum of the cell's
/// place times steps, modulo 2^32.
struct GridDofTables {
  static constexpr int states = 3, owners = 8;  ///< of a cell along an axis; of its dofs
  static constexpr int numbers = 4;             ///< of an owner: the first one, and the steps along the axes

  GridIndexing places;
  int dimension = 0, dofs = 0;               ///< dofs of a cell
  const std::uint32_t* of_owners = nullptr;  ///< states (along z x along y x along x) x numbers x owners
  const std::uint32_t* owner_of = nullptr;   ///< states x dofs: whose a lattice node is
  const std::uint32_t* offset_of = nullptr;  ///< states x dofs: how many its owner has before it

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

/// The dofs of all cells of a grid, cells x lattice nodes, numbered as FunctionSpace has them: cell by cell, each along
/// its lattice, an edge's, a face's and the inside's together when the first of them is met.
class GridDofs {
 public:
  GridDofs(const GridCells& grid, CellShape shape, int degree);

  std::int64_t count() const { return first_of(grid_[0], grid_[1] - 1, grid_[2] - 1); }
  /// Number of dofs that the cells before this one have.
  std::int64_t before(std::int32_t cell) const {
    const GridIndex at = places_(cell);
    return first_of(at[0], at[1], at[2]);
  }
  /// Where there are no more than 2^31 - 1.
  void write(std::int32_t cell, std::int32_t* dofs) const;

  /// All tables, one behind the other, and GridDofTables of a copy of them that begins there.
  std::span<const std::uint32_t> numbers() const { return numbers_; }
  GridDofTables tables(const std::uint32_t* begin) const;

 private:
  static constexpr int states = GridDofTables::states, all_states = states * states * states,
                       owners = GridDofTables::owners;

  /// The dofs that a cell numbers first, where neighbours come before it along some axes (a bit each): for each lattice
  /// node its number among the new dofs, -1 where a neighbour has numbered it.
  std::vector<std::int32_t> new_dofs(const Lattice& lattice, int before) const;
  /// Writes what the cells in one state have in common to the tables.
  void describe_state(const Lattice& lattice, int state, const std::array<std::vector<std::int32_t>, 8>& new_dofs);
  /// The first dof that a cell gives out; that behind the last one of its row where i is that of no cell.
  std::int64_t first_of(std::int32_t i, std::int32_t j, std::int32_t k) const;

  GridCells grid_;
  GridIndexing places_;
  int d_, degree_, dofs_;
  std::array<std::int64_t, 8> given_out_{};  ///< dofs of a cell, by the axes along which others come before it
  std::array<std::int64_t, 8> of_row_{}, of_plane_{};  ///< likewise, of all cells along x, and along x and y
  std::vector<std::uint32_t> numbers_;
};

}  // namespace femcg::mesh

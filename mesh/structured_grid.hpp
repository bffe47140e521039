#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mesh/grid_places.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// The cells of a structured grid along each axis, 1 along z in the plane.
using GridCells = GridPlace;

/// Of a mesh of quadrilaterals or hexahedra whose cells and nodes are numbered row by row of such a grid, wherever the
/// nodes lie; nothing of any other mesh. What such a mesh has in common between its cells is known without a search.
std::optional<GridCells> structured_grid(const Mesh& mesh);

/// What unshared_facets finds on a grid.
std::vector<BoundaryFacet> facets_around(const GridCells& grid, int dimension);

/// The dofs of all cells of a grid, cells x lattice nodes, numbered as FunctionSpace has them: cell by cell, each along
/// its lattice, an edge's, a face's and the inside's together when the first of them is met.
class GridDofs {
 public:
  GridDofs(const GridCells& grid, CellShape shape, int degree);

  std::int64_t count() const { return first_of(grid_[0], grid_[1] - 1, grid_[2] - 1); }
  /// Those that the cells before have: the numbers below it.
  std::int64_t before(std::int32_t cell) const {
    const GridPlace at = places_(cell);
    return first_of(at[0], at[1], at[2]);
  }
  /// Where there are no more than 2^31 - 1.
  void write(std::int32_t cell, std::int32_t* dofs) const;

 private:
  static constexpr int states = 3;  ///< of a cell along an axis: the first, the second, or a later one

  /// What a cell is the first to have, where others come before it along some axes (a bit each): for each lattice node
  /// its number among the new dofs, -1 where it has been given out.
  std::vector<std::int32_t> new_dofs(int before) const;
  /// What the cells in one state have in common. A dof is its owner's, a cell before or the same one along each axis (a
  /// bit each): the first that an owner gives out is `first` + the sum of the cell's place times `steps`, modulo 2^32.
  struct State {
    using OfOwners = std::array<std::uint32_t, 8>;
    OfOwners first{};
    std::array<OfOwners, 3> steps{};
    std::vector<std::uint32_t> owners, offsets;  ///< of the lattice nodes: whose they are, and how many it has before
  };
  State state_of(const std::array<int, 3>& along, const std::array<std::vector<std::int32_t>, 8>& numbers) const;
  /// The first dof that a cell gives out; that behind the last one of its row where i is that of no cell.
  std::int64_t first_of(std::int32_t i, std::int32_t j, std::int32_t k) const;

  GridCells grid_;
  GridPlaces places_;
  int d_, degree_;
  std::vector<std::array<int, 3>> lattice_;
  std::array<std::int64_t, 8> given_out_{};  ///< dofs of a cell, by the axes along which others come before it
  std::array<std::int64_t, 8> of_row_{}, of_plane_{};  ///< likewise, of all cells along x, and along x and y
  std::vector<State> states_;                          ///< along z x along y x along x
};

}  // namespace femcg::mesh

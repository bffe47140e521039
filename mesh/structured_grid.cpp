#include "mesh/structured_grid.hpp"

#include <algorithm>
#include <map>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

/// Numbers of cells along the axes, guessed from the first cell, if it lies at the origin of a grid.
std::optional<GridCells> suggested_grid(const Mesh& mesh) {
  if (!is_tensor(mesh.shape) || mesh.order != 1 || mesh.cell_count() == 0) return std::nullopt;
  const CellNodes first = mesh.nodes(0);
  const std::int32_t nodes = mesh.node_count(), row = first[2];
  if (first[0] != 0 || first[1] != 1 || row < 2) return std::nullopt;
  const std::int32_t plane = mesh.dimension() == 3 ? first[4] : nodes;
  if (plane < 2 * row || plane % row != 0 || nodes % plane != 0) return std::nullopt;
  const GridCells cells{row - 1, plane / row - 1, mesh.dimension() == 3 ? nodes / plane - 1 : 1};
  const bool all = cells[2] > 0 && std::int64_t{cells[0]} * cells[1] * cells[2] == mesh.cell_count();
  return all ? std::optional(cells) : std::nullopt;
}

}  // namespace

std::optional<GridCells> structured_grid(const Mesh& mesh) {
  if (mesh.box) return is_tensor(mesh.shape) && !mesh.box->empty() ? std::optional(mesh.box->cells()) : std::nullopt;
  const std::optional<GridCells> grid = suggested_grid(mesh);
  if (!grid) return grid;
  const auto [nx, ny, nz] = *grid;
  const std::int32_t row = nx + 1, plane = row * (ny + 1);
  const int corners = mesh.nodes_per_cell();
  bool is_grid = true;
#pragma omp parallel for schedule(static) reduction(&& : is_grid)
  for (std::int32_t line = 0; line < ny * nz; ++line) {
    const std::int32_t first = line / ny * plane + line % ny * row;
    for (std::int32_t i = 0; i < nx && is_grid; ++i) {
      const CellNodes nodes = mesh.nodes(line * nx + i);
      for (int v = 0; v < corners; ++v)
        is_grid = is_grid && nodes[v] == first + i + (v & 1) + (v >> 1 & 1) * row + (v >> 2) * plane;
    }
  }
  return is_grid ? grid : std::nullopt;
}

std::vector<BoundaryFacet> facets_around(const GridCells& grid, int dimension) {
  std::vector<BoundaryFacet> found;
  const auto add = [&](const GridCells& at) {
    for (int axis = 0; axis < dimension; ++axis)
      for (const int side : {0, 1})
        if (at[axis] == (side == 0 ? 0 : grid[axis] - 1))
          found.push_back({at[0] + grid[0] * (at[1] + grid[1] * at[2]), 2 * axis + side});
  };
  for (std::int32_t k = 0; k < grid[2]; ++k)
    for (std::int32_t j = 0; j < grid[1]; ++j) {
      const bool outer = j == 0 || j == grid[1] - 1 || (dimension == 3 && (k == 0 || k == grid[2] - 1));
      const std::int32_t step = outer ? 1 : std::max(1, grid[0] - 1);
      for (std::int32_t i = 0; i < grid[0]; i += step) add({i, j, k});
    }
  return found;
}

GridDofs::GridDofs(const GridCells& grid, CellShape shape, int degree)
    : grid_(grid), places_(grid[0], grid[1]), d_(dimension(shape)), degree_(degree) {
  const Lattice lattice(shape, degree);
  dofs_ = lattice.size();
  std::array<std::vector<std::int32_t>, 8> of_cells;
  for (int before = 0; before < 8; ++before) {
    of_cells[before] = new_dofs(lattice, before);
    given_out_[before] = std::ranges::count_if(of_cells[before], [](std::int32_t number) { return number >= 0; });
  }
  for (int before = 0; before < 8; before += 2)
    of_row_[before] = given_out_[before] + (grid_[0] - std::int64_t{1}) * given_out_[before | 1];
  for (int before = 0; before < 8; before += 4)
    of_plane_[before] = of_row_[before] + (grid_[1] - std::int64_t{1}) * of_row_[before | 2];
  numbers_.resize(static_cast<std::size_t>(all_states * (GridDofTables::numbers * owners + 2 * dofs_)));
  for (int state = 0; state < all_states; ++state) describe_state(lattice, state, of_cells);
}

GridDofTables GridDofs::tables(const std::uint32_t* begin) const {
  const std::uint32_t* owner_of = begin + all_states * GridDofTables::numbers * owners;
  return {places_, d_, dofs_, begin, owner_of, owner_of + all_states * dofs_};
}

void GridDofs::describe_state(const Lattice& lattice, int state,
                              const std::array<std::vector<std::int32_t>, 8>& new_dofs) {
  const std::array<int, 3> along{state % states, state / states % states, state / (states * states)};
  std::uint32_t* const of_owners = numbers_.data() + state * GridDofTables::numbers * owners;
  std::uint32_t* const owner_of = numbers_.data() + all_states * GridDofTables::numbers * owners + state * dofs_;
  std::uint32_t* const offset_of = owner_of + all_states * dofs_;
  for (int a = 0; a < dofs_; ++a) {
    // A node on a side with a cell behind it belongs to that cell, which comes first.
    int owner = 0, before_owner = 0;
    std::array<int, 3> there = lattice.index(a);
    for (int axis = 0; axis < d_; ++axis) {
      const bool is_there = there[axis] == 0 && along[axis] > 0;
      if (is_there) {
        owner |= 1 << axis;
        there[axis] = degree_;
      }
      if (along[axis] - (is_there ? 1 : 0) > 0) before_owner |= 1 << axis;
    }
    owner_of[a] = static_cast<std::uint32_t>(owner);
    offset_of[a] = static_cast<std::uint32_t>(new_dofs[before_owner][lattice.node(there[0], there[1], there[2])]);
  }
  for (int owner = 0; owner < 1 << d_; ++owner) {
    const std::array<int, 3> place{along[0] - (owner & 1), along[1] - (owner >> 1 & 1), along[2] - (owner >> 2)};
    if (std::ranges::min(place) < 0) continue;
    const std::int64_t here = first_of(place[0], place[1], place[2]);
    of_owners[owner] = static_cast<std::uint32_t>(here);
    for (int axis = 0; axis < d_; ++axis) {
      if (along[axis] < states - 1) continue;  // all cells of this state have the same index along the axis
      std::array<int, 3> next = place;
      ++next[axis];
      const auto step = static_cast<std::uint32_t>(first_of(next[0], next[1], next[2]) - here);
      of_owners[(axis + 1) * owners + owner] = step;
      of_owners[owner] -= step * static_cast<std::uint32_t>(along[axis]);
    }
  }
}

std::vector<std::int32_t> GridDofs::new_dofs(const Lattice& lattice, int before) const {
  std::vector<std::int32_t> numbers;
  std::map<std::array<int, 3>, std::int32_t> first_of_entity;  // by side (or inside) along each axis
  std::int32_t next = 0;
  for (int a = 0; a < dofs_; ++a) {
    const std::array<int, 3> node = lattice.index(a);
    std::array<int, 3> entity{};
    std::int32_t position = 0, size = 1;
    bool is_new = true;
    for (int axis = 0; axis < d_; ++axis) {
      entity[axis] = node[axis] == 0 ? 0 : node[axis] == degree_ ? 2 : 1;
      is_new = is_new && (entity[axis] != 0 || (before >> axis & 1) == 0);
      if (entity[axis] != 1) continue;
      position += size * (node[axis] - 1);
      size *= degree_ - 1;
    }
    if (!is_new) {
      numbers.push_back(-1);
      continue;
    }
    const auto [found, first_met] = first_of_entity.try_emplace(entity, next);
    if (first_met) next += size;
    numbers.push_back(found->second + position);
  }
  return numbers;
}

std::int64_t GridDofs::first_of(std::int32_t i, std::int32_t j, std::int32_t k) const {
  const auto of_first = [](std::int64_t count, std::int64_t first, std::int64_t later) {
    return count == 0 ? 0 : first + (count - 1) * later;
  };
  const int z = k > 0 ? 4 : 0, y = j > 0 ? 2 : 0;
  return of_first(k, of_plane_[0], of_plane_[4]) + of_first(j, of_row_[z], of_row_[z | 2]) +
         of_first(i, given_out_[z | y], given_out_[z | y | 1]);
}

void GridDofs::write(std::int32_t cell, std::int32_t* dofs) const {
  const GridDofTables of = tables(numbers_.data());
  const GridIndex at = places_(cell);
  const int state = of.state(at);
  const std::uint32_t *const numbers = of.of_owners + state * GridDofTables::numbers * owners,
                             *const owner_of = of.owner_of + state * dofs_,
                             *const offset_of = of.offset_of + state * dofs_;
  std::array<std::uint32_t, owners> first;
  std::copy_n(numbers, owners, first.begin());
  for (int axis = 0; axis < 3; ++axis)
    for (int owner = 0; owner < owners; ++owner)
      first[owner] += static_cast<std::uint32_t>(at[axis]) * numbers[(axis + 1) * owners + owner];
  for (int a = 0; a < dofs_; ++a) dofs[a] = static_cast<std::int32_t>(first[owner_of[a]] + offset_of[a]);
}

}  // namespace femcg::mesh

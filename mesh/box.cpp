#include "mesh/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "mesh/pages.hpp"
#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

constexpr std::array side_names{"left", "right", "bottom", "top", "back", "front"};

/// A repeatable number in [-1, 1] from a position in the grid (the finaliser of splitmix64).
double scatter(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
  key ^= key >> 31;
  return 2.0 * static_cast<double>(key >> 11) / 9007199254740992.0 - 1.0;
}

/// A repeatable vector of length at most 1 for a node: evenly over the cube, what lies outside the ball drawn in to it.
std::array<double, 3> scatter_in_ball(std::int64_t node, int d) {
  std::array<double, 3> vector{};
  double squared = 0;
  for (int axis = 0; axis < d; ++axis) {
    vector[axis] = scatter(static_cast<std::uint64_t>(3 * node + axis));
    squared += vector[axis] * vector[axis];
  }
  if (squared > 1)
    for (double& component : vector) component /= std::sqrt(squared);
  return vector;
}

void check_counts(const BoxOptions& options) {
  const int d = dimension(options.shape);
  double cells = cells_per_cuboid(options.shape), nodes = 1;
  std::string counts;
  for (int axis = 0; axis < d; ++axis) {
    if (options.cells[axis] < 1)
      throw std::invalid_argument(
          fmt::format("a box needs at least 1 cell along each axis, not {}", options.cells[axis]));
    cells *= options.cells[axis];
    nodes *= options.cells[axis] + 1.0;
    counts += fmt::format("{}{}", axis == 0 ? "" : " x ", options.cells[axis]);
  }
  if (std::max(cells, nodes) > std::numeric_limits<std::int32_t>::max())
    throw std::invalid_argument(
        fmt::format("a box of {} makes {:.3g} {} cells with {:.3g} nodes, but a mesh has no more than 2^31 - 1 of "
                    "either; take fewer",
                    counts, cells, name(options.shape), nodes));
}

/// Numbers of the structured grid under a block of a box.
struct Grid {
  Grid(const BoxOptions& options, const BoxBlock& block) : d(dimension(options.shape)), begin(block.begin) {
    for (int axis = 0; axis < d; ++axis) {
      of_box[axis] = options.cells[axis];
      cells[axis] = block.end[axis] - block.begin[axis];
    }
  }
  std::int32_t node(int i, int j, int k) const { return i + (cells[0] + 1) * (j + (cells[1] + 1) * k); }
  std::int64_t node_of_box(const std::array<int, 3>& index) const {
    return index[0] + (of_box[0] + std::int64_t{1}) * (index[1] + (of_box[1] + std::int64_t{1}) * index[2]);
  }
  bool empty() const { return cells[0] * std::int64_t{cells[1]} * cells[2] == 0; }

  int d;
  std::array<std::int32_t, 3> begin{}, cells{1, 1, 1}, of_box{1, 1, 1};  ///< 0, 1 and 1 along z in 2D
};

void make_nodes(const BoxOptions& options, const Grid& grid, Mesh& mesh) {
  const int layers = grid.d == 3 ? grid.cells[2] + 1 : 1;
  mesh.coordinates = filled<double>(std::size_t(grid.cells[0] + 1) * (grid.cells[1] + 1) * layers * grid.d);
#pragma omp parallel for schedule(static)
  for (int row = 0; row < layers * (grid.cells[1] + 1); ++row) {
    const int j = row % (grid.cells[1] + 1), k = row / (grid.cells[1] + 1);
    for (int i = 0; i <= grid.cells[0]; ++i) {
      const std::array<int, 3> index{grid.begin[0] + i, grid.begin[1] + j, grid.begin[2] + k};
      bool inner = true;
      for (int axis = 0; axis < grid.d; ++axis) inner = inner && index[axis] > 0 && index[axis] < grid.of_box[axis];
      const std::array<double, 3> direction =
          inner && options.distort > 0 ? scatter_in_ball(grid.node_of_box(index), grid.d) : std::array<double, 3>{};
      const std::int64_t node = grid.node(i, j, k);
      for (int axis = 0; axis < grid.d; ++axis) {
        const double step = options.size[axis] / grid.of_box[axis], moved = options.distort * direction[axis];
        // The far side lies exactly at the size.
        mesh.coordinates[node * grid.d + axis] =
            index[axis] == grid.of_box[axis] ? options.size[axis] : (index[axis] + moved) * step;
      }
    }
  }
}

/// Corner bits of the simplices that one grid cell is split in: along each order of the axes from corner 0 to the
/// opposite one (Kuhn 1960), so that neighbouring cells agree on the diagonals of their common face. The odd orders
/// swap two vertices to keep the orientation.
std::vector<std::vector<int>> kuhn_simplices(int d) {
  if (d == 2) return {{0, 1, 3}, {0, 3, 2}};
  return {{0, 1, 3, 7}, {0, 5, 1, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 6, 4, 7}};
}

/// Corner bits of the cells that one grid cell is split in.
std::vector<std::vector<int>> parts_of(CellShape shape) {
  if (!is_tensor(shape)) return kuhn_simplices(dimension(shape));
  if (dimension(shape) == 2) return {{0, 1, 2, 3}};
  return {{0, 1, 2, 3, 4, 5, 6, 7}};
}

void make_cells(const Grid& grid, Mesh& mesh) {
  const std::vector<std::vector<int>> parts = parts_of(mesh.shape);
  const std::int64_t count = std::int64_t{grid.cells[0]} * grid.cells[1] * grid.cells[2];
  const int per_cell = static_cast<int>(parts.size()), corners = static_cast<int>(parts[0].size());
  mesh.cell_nodes = filled<std::int32_t>(count * per_cell * corners);
  mesh.cell_regions = filled<std::int32_t>(count * per_cell);
#pragma omp parallel for schedule(static)
  for (std::int64_t c = 0; c < count; ++c) {
    const int i = static_cast<int>(c % grid.cells[0]), j = static_cast<int>(c / grid.cells[0] % grid.cells[1]),
              k = static_cast<int>(c / grid.cells[0] / grid.cells[1]);
    std::int32_t* nodes = mesh.cell_nodes.data() + c * per_cell * corners;
    for (const std::vector<int>& part : parts)
      for (const int corner : part) *nodes++ = grid.node(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2));
  }
}

/// The facets on one side of the grid cells there, each as the cell's number among its grid cell's and the facet.
std::vector<BoundaryFacet> facets_on_side(CellShape shape, int axis, int side) {
  const std::vector<std::vector<int>> parts = parts_of(shape);
  const std::vector<int> vertices = Lattice(shape, 1).vertex_nodes();
  std::vector<BoundaryFacet> found;
  for (int part = 0; part < static_cast<int>(parts.size()); ++part)
    for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f) {
      const std::vector<int>& corners = facets(shape)[f].vertices;
      if (std::all_of(corners.begin(), corners.end(),
                      [&](int v) { return (parts[part][vertices[v]] >> axis & 1) == side; }))
        found.push_back({part, f});
    }
  return found;
}

void make_sides(const Grid& grid, Mesh& mesh) {
  const auto per_cell = static_cast<std::int32_t>(parts_of(mesh.shape).size());
  for (int number = 0; number < 2 * grid.d; ++number) {
    const int axis = number / 2, side = number % 2;
    const std::vector<BoundaryFacet> of_cell = facets_on_side(mesh.shape, axis, side);
    std::array<std::int32_t, 3> begin{}, end = grid.cells;
    (side == 0 ? end[axis] : begin[axis]) = side == 0 ? 1 : grid.cells[axis] - 1;
    std::vector<BoundaryFacet>& on_side = mesh.boundaries.emplace_back(BoundaryGroup{side_names[number], {}}).facets;
    const bool has_side = side == 0 ? grid.begin[axis] == 0 : grid.begin[axis] + grid.cells[axis] == grid.of_box[axis];
    if (!has_side || grid.empty()) continue;
    for (std::int32_t k = begin[2]; k < end[2]; ++k)
      for (std::int32_t j = begin[1]; j < end[1]; ++j)
        for (std::int32_t i = begin[0]; i < end[0]; ++i)
          for (const auto& [part, facet] : of_cell)
            on_side.push_back({(i + grid.cells[0] * (j + grid.cells[1] * k)) * per_cell + part, facet});
  }
}

}  // namespace

void check_box(const BoxOptions& options) {
  check_counts(options);
  for (int axis = 0; axis < dimension(options.shape); ++axis)
    if (!(options.size[axis] > 0) || !std::isfinite(options.size[axis]))
      throw std::invalid_argument(
          fmt::format("a box needs a positive size along each axis, not {}", options.size[axis]));
  const double most = most_distortion(options.shape);
  if (!(options.distort >= 0 && options.distort <= most))
    throw std::invalid_argument(
        fmt::format("distort must be from 0 to {} of a cell in {}D, not {}: beyond that, cells could turn inside out",
                    most, dimension(options.shape), options.distort));
}

bool is_valid_box(const BoxOptions& options, int refinements) {
  BoxOptions one{options.shape};
  for (int axis = 0; axis < dimension(options.shape); ++axis)
    one.size[axis] = std::ldexp(options.size[axis] / options.cells[axis], -refinements);
  try {
    Mesh mesh = make_box(one);
    validate(mesh);
    return mesh.remarks.empty();
  } catch (const std::exception&) {
    return false;
  }
}

Mesh make_box(const BoxOptions& options) { return make_box(options, {{}, options.cells}); }

Mesh make_box(const BoxOptions& options, const BoxBlock& block) {
  check_box(options);
  Mesh mesh;
  mesh.shape = options.shape;
  mesh.region_names = {"box"};
  const Grid grid(options, block);
  if (!grid.empty()) {
    make_nodes(options, grid, mesh);
    make_cells(grid, mesh);
  }
  make_sides(grid, mesh);
  return mesh;
}

}  // namespace femcg::mesh

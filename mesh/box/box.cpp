#include "mesh/box/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "mesh/base/pages.hpp"
#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

constexpr std::array side_names{"left", "right", "bottom", "top", "back", "front"};

/// Repeatable pseudo-random number in [-1, 1] from an integer key (the finaliser of splitmix64).
double scatter(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
  key ^= key >> 31;
  return 2.0 * static_cast<double>(key >> 11) / 9007199254740992.0 - 1.0;
}

/// Repeatable pseudo-random vector of length at most 1 for a node: uniform in the cube; vectors outside the ball are
/// scaled to length 1.
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

BoxNodes nodes_of(const BoxOptions& options, const BoxBlock& block) {
  GridIndex begin{}, cells{1, 1, 1}, of_box{1, 1, 1};
  for (int axis = 0; axis < dimension(options.shape); ++axis) {
    begin[axis] = block.begin[axis];
    cells[axis] = block.end[axis] - block.begin[axis];
    of_box[axis] = options.cells[axis];
  }
  return {options.shape, begin, cells, of_box, options.size};
}

/// Coordinates of the nodes of a distorted box.
std::vector<double> distorted(const BoxNodes& nodes, double distort) {
  const int d = dimension(nodes.shape());
  const GridIndex& of_box = nodes.of_box();
  std::vector<double> coordinates = filled<double>(std::size_t(nodes.node_count()) * d);
#pragma omp parallel for schedule(static)
  for (std::int32_t node = 0; node < nodes.node_count(); ++node) {
    const GridIndex at = nodes.place_of_node(node);
    bool inner = true;
    std::int64_t in_box = 0;  // node number in the whole box
    for (int axis = d - 1; axis >= 0; --axis) {
      const std::int32_t index = nodes.begin()[axis] + at[axis];
      inner = inner && index > 0 && index < of_box[axis];
      in_box = index + (of_box[axis] + std::int64_t{1}) * in_box;
    }
    const std::array<double, 3> direction = inner ? scatter_in_ball(in_box, d) : std::array<double, 3>{};
    for (int axis = 0; axis < d; ++axis)
      coordinates[std::int64_t{node} * d + axis] = nodes.coordinate(at, axis, distort * direction[axis]);
  }
  return coordinates;
}

/// Facets on one side of the grid cells: index of the cell within its grid cell, and facet.
std::vector<BoundaryFacet> facets_on_side(const BoxNodes& grid, int axis, int side) {
  const std::vector<int> vertices = Lattice(grid.shape(), 1).vertex_nodes();
  std::vector<BoundaryFacet> found;
  for (int part = 0; part < cells_per_cuboid(grid.shape()); ++part)
    for (int f = 0; f < static_cast<int>(facets(grid.shape()).size()); ++f)
      if (std::ranges::all_of(facets(grid.shape())[f].vertices,
                              [&](int v) { return (grid.corner(part, vertices[v]) >> axis & 1) == side; }))
        found.push_back({part, f});
  return found;
}

void make_sides(const BoxNodes& grid, Mesh& mesh) {
  const std::int32_t per_cell = cells_per_cuboid(grid.shape());
  for (int number = 0; number < 2 * mesh.dimension(); ++number) {
    const int axis = number / 2, side = number % 2;
    const std::vector<BoundaryFacet> of_cell = facets_on_side(grid, axis, side);
    std::array<std::int32_t, 3> begin{}, end = grid.cells();
    (side == 0 ? end[axis] : begin[axis]) = side == 0 ? 1 : grid.cells()[axis] - 1;
    std::vector<BoundaryFacet>& on_side = mesh.boundaries.emplace_back(BoundaryGroup{side_names[number], {}}).facets;
    const bool has_side =
        side == 0 ? grid.begin()[axis] == 0 : grid.begin()[axis] + grid.cells()[axis] == grid.of_box()[axis];
    if (!has_side || grid.empty()) continue;
    for (std::int32_t k = begin[2]; k < end[2]; ++k)
      for (std::int32_t j = begin[1]; j < end[1]; ++j)
        for (std::int32_t i = begin[0]; i < end[0]; ++i)
          for (const auto& [part, facet] : of_cell)
            on_side.push_back({(i + grid.cells()[0] * (j + grid.cells()[1] * k)) * per_cell + part, facet});
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

std::optional<BoxOptions> refined_box(const BoxOptions& options, int refinements) {
  if (refinements == 0) return options;
  if (!is_tensor(options.shape) || options.distort != 0) return std::nullopt;
  BoxOptions fine = options;
  double nodes = 1;
  for (int axis = 0; axis < dimension(options.shape); ++axis) {
    nodes *= std::ldexp(options.cells[axis], refinements) + 1;
    if (!(nodes <= std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    fine.cells[axis] = options.cells[axis] << refinements;
  }
  return fine;
}

bool is_valid_box(const BoxOptions& options, int refinements) {
  BoxOptions one{options.shape};
  for (int axis = 0; axis < dimension(options.shape); ++axis)
    one.size[axis] = std::ldexp(options.size[axis] / options.cells[axis], -refinements);
  try {
    Mesh mesh = make_box(one);
    validate(mesh);
    return mesh.warnings.empty();
  } catch (const std::exception&) {
    return false;
  }
}

Mesh make_box(const BoxOptions& options) {
  Mesh mesh = implicit_box(options, {{}, options.cells});
  mesh.list_nodes();
  return mesh;
}

Mesh implicit_box(const BoxOptions& options) { return implicit_box(options, {{}, options.cells}); }

Mesh implicit_box(const BoxOptions& options, const BoxBlock& block) {
  check_box(options);
  Mesh mesh;
  mesh.shape = options.shape;
  mesh.region_names = {"box"};
  const BoxNodes grid = nodes_of(options, block);
  mesh.box = grid;
  if (!grid.empty()) {
    mesh.cell_regions = filled<std::int32_t>(std::size_t(grid.cells()[0]) * grid.cells()[1] * grid.cells()[2] *
                                             cells_per_cuboid(grid.shape()));
    if (options.distort > 0) mesh.coordinates = distorted(grid, options.distort);
  }
  make_sides(grid, mesh);
  return mesh;
}

}  // namespace femcg::mesh

#include "mesh/mesh.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "mesh/affine_cells.hpp"
#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/joined_sets.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/entity_numbers.hpp"
#include "mesh/fit.hpp"
#include "mesh/geometry.hpp"
#include "mesh/structured_grid.hpp"

namespace femcg::mesh {

namespace {

/// Least and greatest of the numbers and 0.
std::array<std::int32_t, 2> range_of(const std::vector<std::int32_t>& numbers) {
  std::int32_t low = 0, high = 0;
#pragma omp parallel for schedule(static) reduction(min : low) reduction(max : high)
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    low = std::min(low, numbers[i]);
    high = std::max(high, numbers[i]);
  }
  return {low, high};
}

}  // namespace

void check_indices(const Mesh& mesh) {
  if (mesh.cell_count() == 0) throw std::runtime_error("the mesh has no cells");
  if (mesh.cell_nodes.size() != static_cast<std::size_t>(mesh.cell_count()) * mesh.nodes_per_cell())
    throw std::runtime_error(fmt::format("{} node numbers do not make {} cells of {} nodes", mesh.cell_nodes.size(),
                                         mesh.cell_count(), mesh.nodes_per_cell()));
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (std::max(mesh.cell_regions.size(), mesh.coordinates.size() / mesh.dimension()) > most ||
      mesh.coordinates.size() % mesh.dimension() != 0)
    throw std::runtime_error(fmt::format("{} coordinates do not make nodes", mesh.coordinates.size()));
  const auto [low, high] = range_of(mesh.cell_nodes);
  if (low < 0 || high >= mesh.node_count())
    throw std::runtime_error(
        fmt::format("a cell names node {}, but nodes are 0 to {}", low < 0 ? low : high, mesh.node_count() - 1));
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(&& : finite)
  for (std::size_t i = 0; i < mesh.coordinates.size(); ++i) finite = finite && std::isfinite(mesh.coordinates[i]);
  if (!finite) throw std::runtime_error("a node's coordinate is not a finite number");
  const auto [first, last] = range_of(mesh.cell_regions);
  if (first < 0 || last >= std::ssize(mesh.region_names))
    throw std::runtime_error(
        fmt::format("a cell is of region {}, but there are {}", first < 0 ? first : last, mesh.region_names.size()));
  const int facet_count = static_cast<int>(facets(mesh.shape).size());
  for (const BoundaryGroup& group : mesh.boundaries)
    for (const BoundaryFacet& each : group.facets)
      if (each.cell < 0 || each.cell >= mesh.cell_count() || each.facet < 0 || each.facet >= facet_count)
        throw std::runtime_error(fmt::format("boundary group '{}' has facet {} of cell {}, which is none", group.name,
                                             each.facet, each.cell));
}

namespace {

/// Jacobian determinants of one cell over its test points: the least, and both ends of the range of det J / (product of
/// the column norms), which is 1 for orthogonal and 0 for flat cells of any size.
struct DeterminantRange {
  double least, least_scaled, greatest_scaled;
};

/// Points at which a cell is tested for inversion: the quadrature rule of the highest degree, and the vertices.
Eigen::MatrixXd test_points(const Mesh& mesh) {
  const Eigen::MatrixXd gauss = cell_quadrature(mesh.shape, mesh.order + 1).points;
  const LagrangeBasis corners(mesh.shape, 1, NodeFamily::equispaced);
  Eigen::MatrixXd points(gauss.rows(), gauss.cols() + corners.size());
  points << gauss, corners.nodes();
  return points;
}

double scaled_determinant(const CellGeometry& geometry, int q, int d) {
  const double* jacobian = geometry.jacobian(q);
  double columns = 1;  // product of their norms
  for (int j = 0; j < d; ++j) {
    double square = 0;
    for (int i = 0; i < d; ++i) square += jacobian[i * d + j] * jacobian[i * d + j];
    columns *= std::sqrt(square);
  }
  return columns > 0 ? geometry.determinant(q) / columns : 0.0;
}

DeterminantRange determinant_range(const CellGeometry& geometry, int d) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  DeterminantRange range{infinity, infinity, -infinity};
  for (int q = 0; q < geometry.points(); ++q) {
    const double scaled = scaled_determinant(geometry, q, d);
    range.least = std::min(range.least, geometry.determinant(q));
    range.least_scaled = std::min(range.least_scaled, scaled);
    range.greatest_scaled = std::max(range.greatest_scaled, scaled);
  }
  return range;
}

enum class Sense : char { positive, mirrored, tangled };

Sense sense_of(const DeterminantRange& range) {
  constexpr double rounding = 1e-12;
  if (range.greatest_scaled < -rounding) return Sense::mirrored;
  return range.least_scaled > rounding ? Sense::positive : Sense::tangled;
}

/// Sense of every cell. Affine cells are tested at one point, others at all points of the tables.
std::vector<Sense> senses_of_cells(const Mesh& mesh, const GeometryTables& tables) {
  const AffineCells affine(mesh);
  const GeometryTables one_point(mesh, cell_quadrature(mesh.shape, 1).points);
  std::vector<Sense> senses = filled<Sense>(mesh.cell_count());
  struct Geometries {
    CellGeometry at_all, at_one;
  };
  parallel_for(
      mesh.cell_count(),
      [&] {
        return Geometries{CellGeometry(tables), CellGeometry(one_point)};
      },
      [&](Geometries& geometries, std::int32_t cell) {
        CellGeometry& geometry = affine(cell) ? geometries.at_one : geometries.at_all;
        geometry.move_to(mesh, cell);
        senses[cell] = sense_of(determinant_range(geometry, mesh.dimension()));
      });
  return senses;
}

std::vector<std::int32_t> cells_of_sense(const std::vector<Sense>& senses, Sense wanted) {
  return collect<std::int32_t>(static_cast<std::int64_t>(senses.size()),
                               [&](std::int64_t cell, std::vector<std::int32_t>& found) {
                                 if (senses[cell] == wanted) found.push_back(static_cast<std::int32_t>(cell));
                               });
}

/// Image of each lattice node when the first two reference axes are swapped.
std::vector<int> mirrored_lattice(CellShape shape, int degree) {
  const Lattice lattice(shape, degree);
  std::vector<int> mirrored(lattice.size());
  for (int a = 0; a < lattice.size(); ++a) {
    const auto& [i, j, k] = lattice.index(a);
    mirrored[a] = lattice.node(j, i, k);
  }
  return mirrored;
}

/// Image of a facet when the first two reference axes are swapped.
int mirrored_facet(CellShape shape, int facet) {
  const std::vector<int> vertex_image = mirrored_lattice(shape, 1);
  std::vector<int> image;
  for (const int v : facets(shape)[facet].vertices) image.push_back(vertex_image[v]);
  std::sort(image.begin(), image.end());
  for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f)
    if (facets(shape)[f].vertices == image) return f;
  return facet;
}

void turn_round(Mesh& mesh, const std::vector<std::int32_t>& cells, const std::vector<Sense>& senses) {
  const std::vector<int> image = mirrored_lattice(mesh.shape, mesh.order);
  const int n = mesh.nodes_per_cell();
  std::vector<std::int32_t> old(n);
  for (const std::int32_t cell : cells) {
    std::int32_t* nodes = mesh.cell_nodes.data() + std::int64_t{cell} * n;
    std::copy(nodes, nodes + n, old.begin());
    for (int a = 0; a < n; ++a) nodes[a] = old[image[a]];
  }
  for (BoundaryGroup& group : mesh.boundaries)
    for (BoundaryFacet& facet : group.facets)
      if (senses[facet.cell] == Sense::mirrored) facet.facet = mirrored_facet(mesh.shape, facet.facet);
}

/// Text "cell at (x, y)" for the first ten cells, each followed by the result of `more`.
template <class More>
std::string first_cells(const Mesh& mesh, const std::vector<std::int32_t>& cells, More more) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(cells.size(), 10); ++i) {
    const std::array<double, 3> centre = cell_centre(mesh, cells[i]);
    text += fmt::format("{} cell at ({:.6g}, {:.6g}{}){}", i == 0 ? "" : ",", centre[0], centre[1],
                        mesh.dimension() == 3 ? fmt::format(", {:.6g}", centre[2]) : "", more(cells[i]));
  }
  return text;
}

/// For each facet of the reference cell, +1 if the order of its vertices agrees with its outward orientation, else -1.
std::vector<int> outward_signs(CellShape shape) {
  const Eigen::VectorXd centre = cell_quadrature(shape, 1).points.col(0);
  std::vector<int> signs;
  for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f) {
    Eigen::MatrixXd frame(dimension(shape), dimension(shape));
    frame << facet_quadrature(shape, f, 1).points.col(0) - centre, facet_tangents(shape, f);
    signs.push_back(frame.determinant() > 0 ? 1 : -1);
  }
  return signs;
}

/// Sense, +1 or -1, in which a facet's vertices run, judged by their global numbers: from the least one towards the
/// lesser of its two neighbours.
int sense(std::span<const std::int32_t> vertices) {
  if (vertices.size() == 2) return vertices[0] < vertices[1] ? 1 : -1;
  const int least = static_cast<int>(std::min_element(vertices.begin(), vertices.end()) - vertices.begin());
  if (vertices.size() == 3) return vertices[(least + 1) % 3] < vertices[(least + 2) % 3] ? 1 : -1;
  // Corners 0 and 3 of a quadrilateral see their neighbours counter-clockwise, 1 and 2 clockwise.
  const int turn = least == 0 || least == 3 ? 1 : -1;
  return vertices[least ^ 1] < vertices[least ^ 2] ? turn : -turn;
}

/// Cells on the same side of a facet that they share, one folded over the other: with all cells positively oriented
/// (the `mirrored` ones are not yet), both traverse the facet in the same sense.
std::vector<std::int32_t> folded_cells(const Mesh& mesh, const std::vector<Sense>& senses) {
  const std::vector<SubEntity>& local = facets(mesh.shape);
  const std::vector<int> signs = outward_signs(mesh.shape), corners = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const EntityNumbers numbers = number_entities(mesh, mesh.dimension() - 1);
  const int per_cell = static_cast<int>(local.size());
  const auto visit = [&](auto seen) {
    std::array<std::int32_t, 4> vertices{};
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
      for (int f = 0; f < per_cell; ++f) {
        const std::size_t count = local[f].vertices.size();
        for (std::size_t v = 0; v < count; ++v) vertices[v] = mesh.nodes(cell)[corners[local[f].vertices[v]]];
        const bool positive = signs[f] * sense({vertices.data(), count}) > 0;
        seen(cell, numbers.of_cell[std::int64_t{cell} * per_cell + f],
             positive != (senses[cell] == Sense::mirrored) ? 1 : 2);
      }
  };
  std::vector<std::uint8_t> sides(numbers.count, 0);  // bits 0 and 1: seen from that side; 2 and 3: more than once
  visit([&](std::int32_t, std::int32_t facet, int side) {
    sides[facet] = static_cast<std::uint8_t>(sides[facet] | (sides[facet] & side) << 2 | side);
  });
  std::vector<std::int32_t> folded;
  visit([&](std::int32_t cell, std::int32_t facet, int side) {
    if ((sides[facet] >> 2 & side) != 0 && (folded.empty() || folded.back() != cell)) folded.push_back(cell);
  });
  return folded;
}

/// A cell with a negative determinant is either listed clockwise, or folded over its neighbours: throws for the latter.
void check_folds(const Mesh& mesh, const std::vector<Sense>& senses, std::size_t mirrored_count) {
  const std::vector<std::int32_t> folded = folded_cells(mesh, senses);
  if (folded.empty()) return;
  // If two cells lie on the same side of their facet, the one with the less common orientation is reported.
  const bool few = mirrored_count <= senses.size() / 2;
  std::vector<std::int32_t> wrong;
  std::copy_if(folded.begin(), folded.end(), std::back_inserter(wrong),
               [&](std::int32_t cell) { return (senses[cell] == Sense::mirrored) == few; });
  if (wrong.empty()) wrong = folded;
  throw std::runtime_error(
      fmt::format("{} of {} cells are inverted (they lie folded over a neighbour, on its side of the common facet):{}",
                  wrong.size(), mesh.cell_count(), first_cells(mesh, wrong, [](std::int32_t) { return ""; })));
}

void check_determinants(Mesh& mesh) {
  const GeometryTables tables(mesh, test_points(mesh));
  const std::vector<Sense> senses = senses_of_cells(mesh, tables);
  if (const std::vector<std::int32_t> tangled = cells_of_sense(senses, Sense::tangled); !tangled.empty()) {
    CellGeometry geometry(tables);
    const auto least = [&](std::int32_t cell) {
      geometry.move_to(mesh, cell);
      return fmt::format(" has least determinant {:.3g}", determinant_range(geometry, mesh.dimension()).least);
    };
    throw std::runtime_error(fmt::format(
        "{} of {} cells are inverted or degenerate (their Jacobian determinant vanishes or changes sign):{}",
        tangled.size(), mesh.cell_count(), first_cells(mesh, tangled, least)));
  }
  if (const std::vector<std::int32_t> mirrored = cells_of_sense(senses, Sense::mirrored); !mirrored.empty()) {
    check_folds(mesh, senses, mirrored.size());
    turn_round(mesh, mirrored, senses);
    mesh.warnings.push_back(fmt::format("{} of {} cells were numbered clockwise and have been turned round",
                                        mirrored.size(), mesh.cell_count()));
  }
}

}  // namespace

std::vector<BoundaryFacet> boundary_facets(const Mesh& mesh) {
  const std::optional<GridCells> grid = structured_grid(mesh);
  std::vector<BoundaryFacet> facets = grid ? facets_around(*grid, mesh.dimension()) : unshared_facets(mesh);
  const auto before = [](const BoundaryFacet& a, const BoundaryFacet& b) {
    return std::pair{a.cell, a.facet} < std::pair{b.cell, b.facet};
  };
  std::erase_if(facets,
                [&](const BoundaryFacet& facet) { return std::ranges::binary_search(mesh.cuts, facet, before); });
  return facets;
}

std::vector<std::int32_t> cell_components(const Mesh& mesh) {
  if (structured_grid(mesh)) return filled<std::int32_t>(static_cast<std::size_t>(mesh.cell_count()));
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  JoinedSets joined(mesh.node_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const int v : vertices) joined.join(mesh.nodes(cell)[vertices[0]], mesh.nodes(cell)[v]);
  std::vector<std::int32_t> components = filled<std::int32_t>(mesh.cell_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    components[cell] = joined.least(mesh.nodes(cell)[vertices[0]]);
  std::vector<std::int32_t> number = filled<std::int32_t>(mesh.node_count(), -1);
  std::int32_t count = 0;
  for (std::int32_t& component : components) {
    if (number[component] < 0) number[component] = count++;
    component = number[component];
  }
  return components;
}

void Mesh::list_nodes() {
  if (!box) return;
  const int n = nodes_per_cell(), d = dimension();
  std::vector<std::int32_t> of_cells = filled<std::int32_t>(static_cast<std::size_t>(cell_count()) * n);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < cell_count(); ++cell)
    std::ranges::copy(nodes(cell), of_cells.begin() + std::int64_t{cell} * n);
  if (coordinates.empty()) {
    std::vector<double> points = filled<double>(static_cast<std::size_t>(node_count()) * d);
#pragma omp parallel for schedule(static)
    for (std::int32_t node = 0; node < node_count(); ++node)
      std::copy_n(point(node).begin(), d, points.begin() + std::int64_t{node} * d);
    coordinates = std::move(points);
  }
  cell_nodes = std::move(of_cells);
  box.reset();
}

void validate(Mesh& mesh) {
  mesh.list_nodes();
  check_indices(mesh);
  check_determinants(mesh);
  const std::vector<std::int32_t> components = cell_components(mesh);
  check_fit(mesh, components);
  const std::int32_t count = *std::max_element(components.begin(), components.end()) + 1;
  if (count > 1) mesh.warnings.push_back(fmt::format("the mesh has {} parts that share no vertex", count));
}

}  // namespace femcg::mesh

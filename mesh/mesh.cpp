#include "mesh/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "mesh/function_space.hpp"
#include "mesh/geometry.hpp"
#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

void check_indices(const Mesh& mesh) {
  if (mesh.cell_count() == 0) throw std::runtime_error("the mesh has no cells");
  if (mesh.cell_nodes.size() != static_cast<std::size_t>(mesh.cell_count()) * mesh.nodes_per_cell())
    throw std::runtime_error(fmt::format("{} node numbers do not make {} cells of {} nodes", mesh.cell_nodes.size(),
                                         mesh.cell_count(), mesh.nodes_per_cell()));
  const auto [low, high] = std::minmax_element(mesh.cell_nodes.begin(), mesh.cell_nodes.end());
  if (*low < 0 || *high >= mesh.node_count())
    throw std::runtime_error(
        fmt::format("a cell names node {}, but nodes are 0 to {}", *low < 0 ? *low : *high, mesh.node_count() - 1));
  for (const double coordinate : mesh.coordinates)
    if (!std::isfinite(coordinate)) throw std::runtime_error("a node's coordinate is not a finite number");
}

/// Jacobian determinants of one cell over its test points: the least, and both ends of det J / (product of the column
/// norms), which is 1 for orthogonal and 0 for flat cells whatever their size.
struct DeterminantRange {
  double least, least_scaled, greatest_scaled;
};

/// Points at which a cell is tested for inversion: the rule that the highest degree integrates with, and the lattice
/// corners.
Eigen::MatrixXd test_points(const Mesh& mesh) {
  const Eigen::MatrixXd gauss = cell_quadrature(mesh.shape, mesh.order + 1).points;
  const LagrangeBasis corners(mesh.shape, 1, NodeFamily::equispaced);
  Eigen::MatrixXd points(gauss.rows(), gauss.cols() + corners.size());
  points << gauss, corners.nodes();
  return points;
}

double scaled_determinant(const CellGeometry& geometry, int q, int d) {
  const Eigen::Map<const Eigen::MatrixXd> transposed(geometry.jacobian(q), d, d);
  const double columns = transposed.rowwise().norm().prod();
  return columns > 0 ? geometry.determinant(q) / columns : 0.0;
}

std::vector<DeterminantRange> determinant_ranges(const Mesh& mesh) {
  const GeometryTables tables(mesh, test_points(mesh));
  std::vector<DeterminantRange> ranges(mesh.cell_count());
#pragma omp parallel
  {
    CellGeometry geometry(tables);
#pragma omp for schedule(static)
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
      geometry.move_to(mesh, cell);
      DeterminantRange& range = ranges[cell];
      constexpr double infinity = std::numeric_limits<double>::infinity();
      range = {infinity, infinity, -infinity};
      for (int q = 0; q < geometry.points(); ++q) {
        const double scaled = scaled_determinant(geometry, q, mesh.dimension());
        range.least = std::min(range.least, geometry.determinant(q));
        range.least_scaled = std::min(range.least_scaled, scaled);
        range.greatest_scaled = std::max(range.greatest_scaled, scaled);
      }
    }
  }
  return ranges;
}

/// The lattice node that takes each node's place when the first two reference axes are swapped.
std::vector<int> mirrored_lattice(CellShape shape, int degree) {
  const Lattice lattice(shape, degree);
  std::vector<int> mirrored(lattice.size());
  for (int a = 0; a < lattice.size(); ++a) {
    const auto& [i, j, k] = lattice.index(a);
    mirrored[a] = lattice.node(j, i, k);
  }
  return mirrored;
}

/// The facet that facet f becomes when the first two reference axes are swapped.
int mirrored_facet(CellShape shape, int facet) {
  const std::vector<int> vertex_image = mirrored_lattice(shape, 1);
  std::vector<int> image;
  for (const int v : facets(shape)[facet].vertices) image.push_back(vertex_image[v]);
  std::sort(image.begin(), image.end());
  for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f)
    if (facets(shape)[f].vertices == image) return f;
  return facet;
}

void turn_round(Mesh& mesh, const std::vector<char>& mirrored) {
  const std::vector<int> image = mirrored_lattice(mesh.shape, mesh.order);
  const int n = mesh.nodes_per_cell();
  std::vector<std::int32_t> old(n);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    if (!mirrored[cell]) continue;
    std::int32_t* nodes = mesh.cell_nodes.data() + std::int64_t{cell} * n;
    std::copy(nodes, nodes + n, old.begin());
    for (int a = 0; a < n; ++a) nodes[a] = old[image[a]];
  }
  for (BoundaryGroup& group : mesh.boundaries)
    for (BoundaryFacet& facet : group.facets)
      if (mirrored[facet.cell]) facet.facet = mirrored_facet(mesh.shape, facet.facet);
}

void check_determinants(Mesh& mesh) {
  const std::vector<DeterminantRange> ranges = determinant_ranges(mesh);
  std::vector<std::int32_t> tangled;
  std::vector<char> mirrored(mesh.cell_count(), 0);
  std::int32_t mirrored_count = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    constexpr double rounding = 1e-12;
    if (ranges[cell].greatest_scaled < -rounding) {
      mirrored[cell] = 1;
      ++mirrored_count;
    } else if (!(ranges[cell].least_scaled > rounding)) {
      tangled.push_back(cell);
    }
  }
  if (!tangled.empty()) {
    std::string sentence =
        fmt::format("{} of {} cells are inverted or degenerate (their Jacobian determinant vanishes or changes sign):",
                    tangled.size(), mesh.cell_count());
    for (std::size_t i = 0; i < std::min<std::size_t>(tangled.size(), 10); ++i) {
      const std::array<double, 3> centre = cell_centre(mesh, tangled[i]);
      sentence += fmt::format("{} cell at ({:.6g}, {:.6g}{}) has least determinant {:.3g}", i == 0 ? "" : ",",
                              centre[0], centre[1], mesh.dimension() == 3 ? fmt::format(", {:.6g}", centre[2]) : "",
                              ranges[tangled[i]].least);
    }
    throw std::runtime_error(sentence);
  }
  if (mirrored_count > 0) {
    turn_round(mesh, mirrored);
    mesh.remarks.push_back(fmt::format("{} of {} cells were numbered clockwise and have been turned round",
                                       mirrored_count, mesh.cell_count()));
  }
}

/// Counts nodes that lie where another one does, by sorting along x.
void remark_duplicate_nodes(Mesh& mesh) {
  const int d = mesh.dimension();
  std::vector<std::int32_t> order(mesh.node_count());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::lexicographical_compare(mesh.point(a), mesh.point(a) + d, mesh.point(b), mesh.point(b) + d);
  });
  std::int64_t duplicates = 0;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (std::equal(mesh.point(order[i]), mesh.point(order[i]) + d, mesh.point(order[i - 1]))) ++duplicates;
  if (duplicates > 0)
    mesh.remarks.push_back(
        fmt::format("{} nodes lie exactly where another node does: cells that meet there are not joined "
                    "(a crack, or a mesh whose parts were not merged)",
                    duplicates));
}

}  // namespace

std::vector<BoundaryFacet> boundary_facets(const Mesh& mesh) {
  const EntityNumbers numbers = number_entities(mesh, mesh.dimension() - 1);
  const int per_cell = static_cast<int>(facets(mesh.shape).size());
  std::vector<std::uint8_t> uses(numbers.count, 0);
  for (const std::int32_t facet : numbers.of_cell)
    if (++uses[facet] > 2)
      throw std::runtime_error("a facet is shared by three or more cells: the mesh overlaps itself");
  std::vector<BoundaryFacet> boundary;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (int f = 0; f < per_cell; ++f)
      if (uses[numbers.of_cell[std::int64_t{cell} * per_cell + f]] == 1) boundary.push_back({cell, f});
  return boundary;
}

std::vector<std::int32_t> cell_components(const Mesh& mesh) {
  // Union-find over vertices: every cell joins its own.
  std::vector<std::int32_t> parent(mesh.node_count());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::int32_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto nodes = mesh.nodes(cell);
    const std::int32_t first = root(nodes[vertices[0]]);
    for (const int v : vertices) parent[root(nodes[v])] = first;
  }
  std::vector<std::int32_t> number(mesh.node_count(), -1);
  std::vector<std::int32_t> components(mesh.cell_count());
  std::int32_t count = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    std::int32_t& component = number[root(mesh.nodes(cell)[vertices[0]])];
    if (component < 0) component = count++;
    components[cell] = component;
  }
  return components;
}

void validate(Mesh& mesh) {
  check_indices(mesh);
  check_determinants(mesh);
  remark_duplicate_nodes(mesh);
  const std::vector<std::int32_t> components = cell_components(mesh);
  const std::int32_t count = *std::max_element(components.begin(), components.end()) + 1;
  if (count > 1) mesh.remarks.push_back(fmt::format("the mesh has {} parts that share no vertex", count));
}

}  // namespace femcg::mesh

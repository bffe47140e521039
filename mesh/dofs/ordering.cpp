#include "mesh/dofs/ordering.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <limits>

#include "mesh/dofs/function_space.hpp"
#include "mesh/dofs/space_filling_curve.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

using HalfPoint =
    std::array<int, 3>;  ///< in half edges of the cell: corners have coordinates 0 and 2, midpoints of edges also 1
using SimplexChild = std::array<HalfPoint, 4>;

SimplexChild oriented(SimplexChild child) {
  Eigen::Matrix3i edges;
  for (int e = 0; e < 3; ++e)
    for (int axis = 0; axis < 3; ++axis) edges(axis, e) = child[e + 1][axis] - child[0][axis];
  if (edges.cast<double>().determinant() < 0) std::swap(child[2], child[3]);
  return child;
}

/// The three ways to cut the octahedron inside a tetrahedron: a diagonal, and the other four midpoints in order around
/// it.
struct OctahedronCut {
  HalfPoint from, to;
  std::array<HalfPoint, 4> ring;
};
constexpr HalfPoint m01{1, 0, 0}, m02{0, 1, 0}, m03{0, 0, 1}, m12{1, 1, 0}, m13{1, 0, 1}, m23{0, 1, 1};
constexpr std::array octahedron_cuts{OctahedronCut{m02, m13, {m01, m03, m23, m12}},
                                     OctahedronCut{m01, m23, {m02, m03, m13, m12}},
                                     OctahedronCut{m03, m12, {m01, m02, m23, m13}}};

/// Corners of the children of a simplex (Bey 1995); for a tetrahedron, with the given cut of its octahedron.
std::vector<SimplexChild> simplex_children(int d, int cut) {
  if (d == 2)
    return {{{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}},
            {{{1, 0, 0}, {2, 0, 0}, {1, 1, 0}}},
            {{{0, 1, 0}, {1, 1, 0}, {0, 2, 0}}},
            {{{1, 1, 0}, {0, 1, 0}, {1, 0, 0}}}};
  std::vector<SimplexChild> children{{{{0, 0, 0}, m01, m02, m03}},
                                     {{m01, {2, 0, 0}, m12, m13}},
                                     {{m02, m12, {0, 2, 0}, m23}},
                                     {{m03, m13, m23, {0, 0, 2}}}};
  const OctahedronCut& octahedron = octahedron_cuts[cut];
  for (int i = 0; i < 4; ++i)
    children.push_back(oriented({octahedron.from, octahedron.to, octahedron.ring[i], octahedron.ring[(i + 1) % 4]}));
  return children;
}

/// Cut along the shortest diagonal, which keeps the children of repeated refinement from degenerating.
int best_cut(const Mesh& mesh, std::int32_t cell, const std::vector<int>& vertices) {
  if (mesh.shape != CellShape::tetrahedron) return 0;
  const auto midpoint = [&](const HalfPoint& half) {
    const std::array<int, 4> weights{2 - half[0] - half[1] - half[2], half[0], half[1], half[2]};
    Eigen::Vector3d point = Eigen::Vector3d::Zero();
    for (int v = 0; v < 4; ++v)
      point += 0.5 * weights[v] * Eigen::Map<const Eigen::Vector3d>(mesh.point(mesh.nodes(cell)[vertices[v]]).data());
    return point;
  };
  int best = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (int cut = 0; cut < static_cast<int>(octahedron_cuts.size()); ++cut) {
    const double length = (midpoint(octahedron_cuts[cut].from) - midpoint(octahedron_cuts[cut].to)).norm();
    if (length < shortest * (1 - 1e-12)) {
      shortest = length;
      best = cut;
    }
  }
  return best;
}

/// Nodes of each child's lattice within the parent's lattice of twice the degree, [children][nodes].
std::vector<std::vector<int>> child_lattices(CellShape shape, int order, int cut) {
  const Lattice child(shape, order), parent(shape, 2 * order);
  std::vector<std::vector<int>> children;
  if (is_tensor(shape)) {
    for (int c = 0; c < 1 << dimension(shape); ++c) {
      std::vector<int>& nodes = children.emplace_back();
      for (int a = 0; a < child.size(); ++a) {
        const auto& [i, j, k] = child.index(a);
        nodes.push_back(parent.node(i + order * (c & 1), j + order * (c >> 1 & 1), k + order * (c >> 2)));
      }
    }
    return children;
  }
  for (const SimplexChild& corners : simplex_children(dimension(shape), cut)) {
    std::vector<int>& nodes = children.emplace_back();
    for (int a = 0; a < child.size(); ++a) {
      std::array<int, 3> at{};
      for (int axis = 0; axis < 3; ++axis) {
        at[axis] = order * corners[0][axis];
        for (int e = 0; e < dimension(shape); ++e)
          at[axis] += child.index(a)[e] * (corners[e + 1][axis] - corners[0][axis]);
      }
      nodes.push_back(parent.node(at[0], at[1], at[2]));
    }
  }
  return children;
}

/// Facets of the children on each facet of their parent, as (child, facet).
std::vector<std::vector<std::pair<int, int>>> child_facets(CellShape shape, int cut) {
  const LagrangeBasis halves(shape, 2, NodeFamily::equispaced), corners(shape, 1, NodeFamily::equispaced);
  const std::vector<std::vector<int>> children = child_lattices(shape, 1, cut);
  std::vector<std::vector<std::pair<int, int>>> result;
  for (const SubEntity& facet : facets(shape)) {
    auto& inside = result.emplace_back();
    // A point lies on the facet if the basis functions of the other vertices vanish there.
    const Eigen::MatrixXd values = corners.values(halves.nodes());
    const auto on_facet = [&](int node) {
      double others = 1;
      for (const int v : facet.vertices) others -= values(node, v);
      return std::abs(others) < 1e-12;
    };
    for (int c = 0; c < static_cast<int>(children.size()); ++c)
      for (int f = 0; f < static_cast<int>(facets(shape).size()); ++f) {
        const std::vector<int>& vertices = facets(shape)[f].vertices;
        if (std::all_of(vertices.begin(), vertices.end(), [&](int v) { return on_facet(children[c][v]); }))
          inside.emplace_back(c, f);
      }
  }
  return result;
}

/// Orders rows by the number of their neighbours, then by index.
struct ByDegree {
  std::span<const std::int64_t> row_offsets;

  std::int64_t degree(std::int32_t row) const { return row_offsets[row + 1] - row_offsets[row]; }
  bool operator()(std::int32_t a, std::int32_t b) const {
    return degree(a) != degree(b) ? degree(a) < degree(b) : a < b;
  }
};

/// Numbers the rows of a sparsity pattern breadth first, the neighbours of a row by ascending degree.
///
/// Boost's ordering rescans all rows for every component, and its graphs take a hundred times the 9 bytes per row
/// needed here.
class CuthillMcKee {
 public:
  CuthillMcKee(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns)
      : row_offsets_(row_offsets), columns_(columns), by_degree_{row_offsets}, numbered_(row_offsets.size() - 1) {
    sequence_.reserve(numbered_.size());
  }

  bool numbered(std::int32_t row) const { return numbered_[row] != 0; }
  /// The rows numbered so far, in order.
  const std::vector<std::int32_t>& sequence() const { return sequence_; }

  /// Numbers the component of `root` from a pseudo-peripheral row: as long as the number of levels grows, it is
  /// renumbered from a row of least degree in the last level (George & Liu 1979).
  void number_component(std::int32_t root) {
    const std::size_t begin = sequence_.size();
    int levels = number_from(root), before = 0;
    do {
      before = levels;
      const std::int32_t end =
          *std::min_element(sequence_.begin() + static_cast<std::ptrdiff_t>(last_level_), sequence_.end(), by_degree_);
      for (std::size_t i = begin; i < sequence_.size(); ++i) numbered_[sequence_[i]] = 0;
      sequence_.resize(begin);
      levels = number_from(end);
    } while (levels > before);
  }

 private:
  /// Numbers the rows reachable from `start` and returns the number of levels; the last level begins at `last_level_`.
  int number_from(std::int32_t start) {
    std::size_t next = sequence_.size();
    number(start);
    int levels = 0;
    while (next < sequence_.size()) {
      ++levels;
      last_level_ = next;
      for (const std::size_t level_end = sequence_.size(); next < level_end; ++next) number_neighbours(sequence_[next]);
    }
    return levels;
  }

  void number_neighbours(std::int32_t row) {
    const auto first = static_cast<std::ptrdiff_t>(sequence_.size());
    for (std::int64_t k = row_offsets_[row]; k < row_offsets_[row + 1]; ++k)
      if (!numbered(columns_[k])) number(columns_[k]);
    std::sort(sequence_.begin() + first, sequence_.end(), by_degree_);
  }

  void number(std::int32_t row) {
    numbered_[row] = 1;
    sequence_.push_back(row);
  }

  std::span<const std::int64_t> row_offsets_;
  std::span<const std::int32_t> columns_;
  ByDegree by_degree_;
  std::vector<char> numbered_;
  std::vector<std::int32_t> sequence_;
  std::size_t last_level_ = 0;
};

}  // namespace

void order_cells_along_curve(Mesh& mesh) {
  mesh.list_nodes();
  const int n = mesh.nodes_per_cell();
  const std::vector<std::int32_t> order = cells_along_curve(mesh);
  std::vector<std::int32_t> cell_nodes(mesh.cell_nodes.size()), regions(mesh.cell_count()),
      new_number(mesh.cell_count());
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const std::int32_t old = order[cell];
    std::copy_n(mesh.nodes(old).data(), n, cell_nodes.begin() + std::int64_t{cell} * n);
    regions[cell] = mesh.cell_regions[old];
    new_number[old] = cell;
  }
  mesh.cell_nodes = std::move(cell_nodes);
  mesh.cell_regions = std::move(regions);
  mesh.follows_curve = true;
  for (BoundaryGroup& group : mesh.boundaries)
    for (BoundaryFacet& facet : group.facets) facet.cell = new_number[facet.cell];
}

std::vector<std::int32_t> reverse_cuthill_mckee(std::span<const std::int64_t> row_offsets,
                                                std::span<const std::int32_t> columns) {
  const auto rows = static_cast<std::int32_t>(row_offsets.size() - 1);
  CuthillMcKee search(row_offsets, columns);
  // In an unsymmetric pattern, one search need not reach the whole component.
  for (std::int32_t root = 0; root < rows; ++root)
    while (!search.numbered(root)) search.number_component(root);
  std::vector<std::int32_t> order(rows);
  for (std::int32_t position = 0; position < rows; ++position) order[search.sequence()[position]] = rows - 1 - position;
  return order;
}

std::int32_t bandwidth(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns) {
  std::int32_t widest = 0;
  const auto rows = static_cast<std::int32_t>(row_offsets.size() - 1);
  for (std::int32_t i = 0; i < rows; ++i)
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
      widest = std::max(widest, std::abs(columns[k] - i));
  return widest;
}

FunctionSpace lattice_for_refinement(const Mesh& mesh) {
  // The children's nodes form the lattice of twice the order, numbered as a function space.
  return FunctionSpace(mesh, 2 * mesh.order, NodeFamily::equispaced);
}

Mesh refine(const Mesh& mesh) { return refine(lattice_for_refinement(mesh)); }

Mesh refine(const FunctionSpace& lattice) {
  const Mesh& mesh = lattice.mesh();
  const int n = mesh.nodes_per_cell(), per_cell = 1 << mesh.dimension();
  const std::int64_t count = std::int64_t{mesh.cell_count()} * per_cell;
  if (count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("refinement would make more than 2^31 - 1 cells");

  Mesh refined;
  refined.shape = mesh.shape;
  refined.order = mesh.order;
  refined.axisymmetric = mesh.axisymmetric;
  refined.follows_curve = mesh.follows_curve;
  refined.coordinates = lattice.dof_points();
  refined.region_names = mesh.region_names;
  refined.warnings = mesh.warnings;
  refined.cell_nodes.resize(count * n);
  refined.cell_regions.resize(count);
  const std::vector<int> vertices = Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<std::vector<std::vector<int>>> children;
  std::vector<std::vector<std::vector<std::pair<int, int>>>> on_facet;
  for (int cut = 0; cut < static_cast<int>(octahedron_cuts.size()); ++cut) {
    children.push_back(child_lattices(mesh.shape, mesh.order, cut));
    on_facet.push_back(child_facets(mesh.shape, cut));
  }
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const int cut = best_cut(mesh, cell, vertices);
    const CellDofs nodes = lattice.dofs(cell);
    for (int c = 0; c < per_cell; ++c) {
      const std::int64_t child = std::int64_t{cell} * per_cell + c;
      refined.cell_regions[child] = mesh.cell_regions[cell];
      for (int a = 0; a < n; ++a) refined.cell_nodes[child * n + a] = nodes[children[cut][c][a]];
    }
  }
  for (const BoundaryGroup& group : mesh.boundaries) {
    BoundaryGroup& finer = refined.boundaries.emplace_back(BoundaryGroup{group.name, {}});
    for (const BoundaryFacet& facet : group.facets)
      for (const auto& [child, f] : on_facet[best_cut(mesh, facet.cell, vertices)][facet.facet])
        finer.facets.push_back({facet.cell * per_cell + child, f});
  }
  return refined;
}

}  // namespace femcg::mesh

#include "mesh/fit.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mesh/base/counting.hpp"
#include "mesh/boundary_surface.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"
#include "mesh/locate.hpp"

namespace femcg::mesh {

namespace {

using Point = std::array<double, 3>;

constexpr double tolerance = 1e-4;  // of a cell's shortest edge; mesh files have five digits or more

struct Box {
  Point low{}, high{};
};

bool meet(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < 3; ++i)
    if (a.low[i] > b.high[i] || b.low[i] > a.high[i]) return false;
  return true;
}

/// Points searchable by box: a k-d tree whose nodes are the medians of ranges (Bentley 1975).
class PointTree {
 public:
  explicit PointTree(std::vector<Point> points) : points_(std::move(points)), order_(points_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    sort(0, order_.size(), 0);
  }
  /// Calls see(index) for each point in the box.
  template <class See>
  void in_box(const Box& box, const See& see) const {
    visit(box, see, 0, order_.size(), 0);
  }

 private:
  void sort(std::size_t first, std::size_t last, std::size_t axis) {
    if (last - first < 2) return;
    const std::size_t middle = first + (last - first) / 2;
    std::nth_element(order_.begin() + static_cast<std::ptrdiff_t>(first),
                     order_.begin() + static_cast<std::ptrdiff_t>(middle),
                     order_.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](std::size_t a, std::size_t b) { return points_[a][axis] < points_[b][axis]; });
    sort(first, middle, (axis + 1) % 3);
    sort(middle + 1, last, (axis + 1) % 3);
  }
  template <class See>
  void visit(const Box& box, const See& see, std::size_t first, std::size_t last, std::size_t axis) const {
    if (first >= last) return;
    const std::size_t middle = first + (last - first) / 2;
    const Point& x = points_[order_[middle]];
    if (meet({x, x}, box)) see(order_[middle]);
    if (box.low[axis] <= x[axis]) visit(box, see, first, middle, (axis + 1) % 3);
    if (box.high[axis] >= x[axis]) visit(box, see, middle + 1, last, (axis + 1) % 3);
  }

  std::vector<Point> points_;
  std::vector<std::size_t> order_;
};

Eigen::Vector3d vector(const Point& x) { return {x[0], x[1], x[2]}; }

/// Distance from p to a segment or a triangle.
double distance(const Eigen::Vector3d& p, const Eigen::Vector3d& a, const Eigen::Vector3d& b) {
  const Eigen::Vector3d along = b - a;
  const double t =
      std::clamp((p - a).dot(along) / std::max(along.squaredNorm(), std::numeric_limits<double>::min()), 0.0, 1.0);
  return (a + t * along - p).norm();
}
double distance(const Eigen::Vector3d& p, const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                const Eigen::Vector3d& c) {
  const Eigen::Vector3d n = (b - a).cross(c - a);
  const auto left_of = [&](const Eigen::Vector3d& from, const Eigen::Vector3d& to) {
    return (to - from).cross(p - from).dot(n) >= 0;
  };
  if (n.norm() > 0 && left_of(a, b) && left_of(b, c) && left_of(c, a)) return std::abs(n.normalized().dot(p - a));
  return std::min({distance(p, a, b), distance(p, b, c), distance(p, c, a)});
}

/// Length of the shortest edge between the vertices of a cell.
double shortest_edge(const Mesh& mesh, const std::vector<int>& vertices, std::int32_t cell) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const SubEntity& edge : edges(mesh.shape)) {
    const auto at = [&](int v) { return vector(mesh.point(mesh.nodes(cell)[vertices[edge.vertices[v]]])); };
    shortest = std::min(shortest, (at(0) - at(1)).norm());
  }
  return shortest;
}

/// A vertex on a facet that it does not belong to; `twin` is the facet's vertex at the same place, or -1.
struct Touch {
  std::int32_t node, twin, cell_of_node, cell_of_facet;
};

class Fit {
 public:
  explicit Fit(const Mesh& mesh) : mesh_(&mesh), vertices_(mesh), facets_(boundary_facets(mesh)) {
    const std::vector<int> of_cell = Lattice(mesh.shape, mesh.order).vertex_nodes();
    struct Seen {
      std::int32_t node, cell;
      double edge;
    };
    std::vector<Seen> seen;
    for (const BoundaryFacet& facet : facets_) {
      edges_.push_back(shortest_edge(mesh, of_cell, facet.cell));
      for (std::size_t v = 0; v < vertices_.count(); ++v)
        seen.push_back({vertices_.node(facet, v), facet.cell, edges_.back()});
    }
    std::ranges::sort(seen, {}, [](const Seen& s) { return std::pair(s.node, s.edge); });
    for (const Seen& s : seen)
      if (nodes_.empty() || nodes_.back() != s.node) {
        nodes_.push_back(s.node);
        cells_.push_back(s.cell);
        edge_of_node_.push_back(s.edge);
      }
  }

  const std::vector<BoundaryFacet>& facets() const { return facets_; }
  const std::vector<std::int32_t>& nodes() const { return nodes_; }
  const std::vector<std::int32_t>& cells() const { return cells_; }

  std::vector<Touch> touches() const {
    std::vector<Point> points;
    for (const std::int32_t node : nodes_) points.push_back(mesh_->point(node));
    const PointTree tree(std::move(points));
    return collect<Touch>(std::ssize(facets_), [&](std::int64_t f, std::vector<Touch>& found) {
      const BoundaryFacet& facet = facets_[f];
      Box box{mesh_->point(vertices_.node(facet, 0)), mesh_->point(vertices_.node(facet, 0))};
      for (std::size_t v = 0; v < vertices_.count(); ++v)
        for (std::size_t i = 0; i < 3; ++i) {
          const double x = mesh_->point(vertices_.node(facet, v))[i];
          box.low[i] = std::min(box.low[i], x);
          box.high[i] = std::max(box.high[i], x);
        }
      for (std::size_t i = 0; i < 3; ++i) {
        box.low[i] -= tolerance * edges_[f];
        box.high[i] += tolerance * edges_[f];
      }
      tree.in_box(box, [&](std::size_t n) { look(n, f, found); });
    });
  }

 private:
  void look(std::size_t n, std::int64_t f, std::vector<Touch>& found) const {
    const BoundaryFacet& facet = facets_[f];
    const double near = tolerance * std::min(edges_[f], edge_of_node_[n]);
    const Eigen::Vector3d p = vector(mesh_->point(nodes_[n]));
    const auto at = [&](std::size_t v) { return vector(mesh_->point(vertices_.node(facet, v))); };
    Touch touch{nodes_[n], -1, cells_[n], facet.cell};
    for (std::size_t v = 0; v < vertices_.count(); ++v) {
      if (vertices_.node(facet, v) == nodes_[n]) return;
      if ((at(v) - p).norm() <= near) touch.twin = vertices_.node(facet, v);
    }
    const double from = vertices_.count() == 2 ? distance(p, at(0), at(1))
                        : vertices_.count() == 3
                            ? distance(p, at(0), at(1), at(2))
                            : std::min(distance(p, at(0), at(1), at(2)), distance(p, at(0), at(2), at(3)));
    if (touch.twin >= 0 || from <= near) found.push_back(touch);
  }

  const Mesh* mesh_;
  FacetVertices vertices_;
  std::vector<BoundaryFacet> facets_;
  std::vector<double> edges_;  ///< shortest edge of each facet's cell
  std::vector<std::int32_t> nodes_,
      cells_;  ///< vertices on the boundary, and the cell at each that has the shortest edge
  std::vector<double> edge_of_node_;
};

std::string place_text(const Mesh& mesh, const Point& x) {
  return mesh.dimension() == 2 ? fmt::format("({:.6g}, {:.6g})", x[0], x[1])
                               : fmt::format("({:.6g}, {:.6g}, {:.6g})", x[0], x[1], x[2]);
}

void report_touches(Mesh& mesh, std::span<const std::int32_t> components, const std::vector<Touch>& touches) {
  std::vector<std::int32_t> twins, hanging, apart;
  for (const Touch& touch : touches) {
    const bool joined = components[touch.cell_of_node] == components[touch.cell_of_facet];
    if (touch.twin >= 0)
      twins.push_back(std::max(touch.node, touch.twin));
    else
      (joined ? hanging : apart).push_back(touch.node);
  }
  for (auto* nodes : {&twins, &hanging, &apart}) {
    std::ranges::sort(*nodes);
    nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
  }
  if (!hanging.empty())
    throw std::runtime_error(
        fmt::format("{} {} inside a facet of another cell, the first at {} (hanging nodes): nothing would flow across "
                    "that facet, so cells must have whole facets in common",
                    hanging.size(), hanging.size() == 1 ? "vertex lies" : "vertices lie",
                    place_text(mesh, mesh.point(hanging.front()))));
  if (!twins.empty())
    mesh.warnings.push_back(
        fmt::format("{} nodes lie where another node does, the first at {}: cells that meet there are not joined (a "
                    "crack, or a mesh whose parts were not merged)",
                    twins.size(), place_text(mesh, mesh.point(twins.front()))));
  if (!apart.empty())
    mesh.warnings.push_back(fmt::format(
        "{} vertices of one part lie inside facets of another, the first at {}: the parts touch, but are not "
        "joined, and nothing flows across",
        apart.size(), place_text(mesh, mesh.point(apart.front()))));
}

/// First of the given reference points, mapped to each cell: a quadrature point, which lies on no plane of symmetry,
/// where the facets of another part may lie.
class SamplePoint {
 public:
  SamplePoint(const Mesh& mesh, const Eigen::MatrixXd& points) : mesh_(&mesh), tables_(mesh, points.leftCols(1)) {}

  Point of(std::int32_t cell) const {
    Point made{};
    const auto nodes = mesh_->nodes(cell);
    for (std::size_t a = 0; a < nodes.size(); ++a)
      for (std::size_t i = 0; i < 3; ++i)
        made[i] += tables_.values(0, static_cast<Eigen::Index>(a)) * mesh_->point(nodes[a])[i];
    return made;
  }

 private:
  const Mesh* mesh_;
  GeometryTables tables_;
};

/// Throws if a vertex, or a point of a cell or of a facet, lies inside a cell of another component.
void check_overlap(const Mesh& mesh, std::span<const std::int32_t> components, const Fit& fit) {
  const std::int32_t count = *std::ranges::max_element(components) + 1;
  if (count < 2) return;
  const auto box_of = [&](std::int32_t cell) {
    const Extent extent = extent_of(mesh, cell);
    return Box{extent.low, extent.high};
  };
  std::vector<Box> boxes(static_cast<std::size_t>(count));
  std::vector<char> begun(boxes.size(), 0), meets(boxes.size(), 0);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const Box of_cell = box_of(cell);
    Box& box = boxes[components[cell]];
    if (std::exchange(begun[components[cell]], 1) == 0) box = of_cell;
    for (std::size_t i = 0; i < 3; ++i) {
      box.low[i] = std::min(box.low[i], of_cell.low[i]);
      box.high[i] = std::max(box.high[i], of_cell.high[i]);
    }
  }
  constexpr std::size_t most_pairs = 2000;  // with more components, all cells are tested
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    meets[a] = boxes.size() > most_pairs;
    for (std::size_t b = 0; b < boxes.size() && meets[a] == 0; ++b) meets[a] = a != b && meet(boxes[a], boxes[b]);
  }
  std::vector<Point> points;
  std::vector<std::int32_t> cells;
  const auto add = [&](const Point& point, std::int32_t cell) {
    if (meets[components[cell]] == 0) return;
    points.push_back(point);
    cells.push_back(cell);
  };
  const SamplePoint in_cell(mesh, cell_quadrature(mesh.shape, 2).points);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    add(cell_centre(mesh, cell), cell);
    add(in_cell.of(cell), cell);
  }
  std::vector<SamplePoint> on_facets;
  for (int f = 0; f < static_cast<int>(mesh::facets(mesh.shape).size()); ++f)
    on_facets.emplace_back(mesh, facet_quadrature(mesh.shape, f, 2).points);
  for (const BoundaryFacet& facet : fit.facets()) add(on_facets[facet.facet].of(facet.cell), facet.cell);
  for (std::size_t n = 0; n < fit.nodes().size(); ++n) add(mesh.point(fit.nodes()[n]), fit.cells()[n]);
  if (points.empty()) return;
  const PointTree tree(points);
  const auto found = collect<std::size_t>(mesh.cell_count(), [&](std::int64_t c, std::vector<std::size_t>& inside) {
    const auto cell = static_cast<std::int32_t>(c);
    if (meets[components[cell]] == 0) return;
    tree.in_box(box_of(cell), [&](std::size_t p) {
      if (components[cells[p]] != components[cell] && lies_within(mesh, cell, points[p])) inside.push_back(p);
    });
  });
  if (!found.empty())
    throw std::runtime_error(
        fmt::format("parts of the mesh overlap: cells of one lie within cells of another, as at {}, where the volume "
                    "counts twice: cut one part out of the other, or join them",
                    place_text(mesh, points[found.front()])));
}

}  // namespace

void check_fit(Mesh& mesh, std::span<const std::int32_t> components) {
  const Fit fit(mesh);
  check_overlap(mesh, components, fit);
  report_touches(mesh, components, fit.touches());
}

}  // namespace femcg::mesh

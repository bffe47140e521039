#include "mesh/cell_quality.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>

#include "mesh/base/first_failure.hpp"
#include "mesh/boundary_surface.hpp"
#include "mesh/cells_around.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

using Vector = Eigen::Vector3d;  // z = 0 in the plane

Eigen::MatrixXd reference_vertices(CellShape shape) { return LagrangeBasis(shape, 1, NodeFamily::equispaced).nodes(); }

/// Outward normals of the facets of the reference cell, dimension x facets.
Eigen::MatrixXd reference_normals(CellShape shape) {
  const int d = dimension(shape), count = static_cast<int>(facets(shape).size());
  Eigen::MatrixXd normals = Eigen::MatrixXd::Zero(d, count);
  for (int f = 0; f < count; ++f) {
    if (is_tensor(shape))
      normals(f / 2, f) = f % 2 == 0 ? -1 : 1;
    else if (f == d)
      normals.col(f).setOnes();  // opposite the origin
    else
      normals(d - f - 1, f) = -1;  // opposite vertex d - f, the unit point of axis d - f - 1
  }
  return normals;
}

/// Two facets that meet at a vertex.
struct Corner {
  int vertex, first, second;
};

std::vector<Corner> corners_of(CellShape shape) {
  const std::vector<SubEntity>& sides = facets(shape);
  const auto has = [&](int f, int vertex) { return std::ranges::count(sides[f].vertices, vertex) > 0; };
  std::vector<Corner> corners;
  for (int vertex = 0; vertex < vertex_count(shape); ++vertex)
    for (int f = 0; f < static_cast<int>(sides.size()); ++f)
      for (int g = 0; g < f; ++g)
        if (has(f, vertex) && has(g, vertex)) corners.push_back({vertex, f, g});
  return corners;
}

/// Reference points: the vertices, where angles are measured, then the points where determinants are compared.
Eigen::MatrixXd points_of(const Mesh& mesh) {
  const Eigen::MatrixXd vertices = reference_vertices(mesh.shape);
  const Eigen::MatrixXd lattice = LagrangeBasis(mesh.shape, mesh.order, NodeFamily::equispaced).nodes();
  const Eigen::MatrixXd gauss = cell_quadrature(mesh.shape, mesh.order + 1).points;
  Eigen::MatrixXd points(vertices.rows(), vertices.cols() + lattice.cols() + gauss.cols());
  points << vertices, lattice, gauss;
  return points;
}

double triangle_area(const Vector& a, const Vector& b, const Vector& c) { return (b - a).cross(c - a).norm() / 2; }

/// Radius of the inscribed circle or sphere: d times the volume over the surface.
double inner_radius(const std::vector<Vector>& x) {
  if (x.size() == 3)
    return 2 * triangle_area(x[0], x[1], x[2]) / ((x[1] - x[0]).norm() + (x[2] - x[1]).norm() + (x[0] - x[2]).norm());
  const double volume = std::abs((x[1] - x[0]).cross(x[2] - x[0]).dot(x[3] - x[0])) / 6;
  return 3 * volume /
         (triangle_area(x[0], x[1], x[2]) + triangle_area(x[0], x[1], x[3]) + triangle_area(x[0], x[2], x[3]) +
          triangle_area(x[1], x[2], x[3]));
}

double aspect_of_simplex(const std::vector<Vector>& x) {
  double longest = 0;
  for (std::size_t v = 0; v < x.size(); ++v)
    for (std::size_t w = 0; w < v; ++w) longest = std::max(longest, (x[v] - x[w]).norm());
  return longest / (2 * std::sqrt(x.size() == 3 ? 3.0 : 6.0) * inner_radius(x));
}

double aspect_of_tensor_cell(const std::vector<Vector>& x) {
  double longest = 0, shortest = std::numeric_limits<double>::infinity();
  for (std::size_t bit = 1; bit < x.size(); bit *= 2) {  // vertex v lies at (v & 1, v >> 1 & 1, v >> 2)
    Vector axis = Vector::Zero();
    for (std::size_t v = 0; v < x.size(); ++v) axis += (v & bit) != 0 ? x[v] : Vector(-x[v]);
    longest = std::max(longest, axis.norm());
    shortest = std::min(shortest, axis.norm());
  }
  return longest / shortest;
}

/// Measures the quality of one cell after the other; angles only, if the tables hold the vertices alone. Has scratch
/// memory: one per thread.
class Measure {
 public:
  Measure(const Mesh& mesh, const GeometryTables& tables)
      : mesh_(&mesh),
        geometry_(tables),
        normals_(reference_normals(mesh.shape)),
        corners_(corners_of(mesh.shape)),
        vertices_(vertex_count(mesh.shape)) {}

  CellQuality operator()(std::int32_t cell) {
    geometry_.move_to(*mesh_, cell);
    CellQuality quality;
    measure_angles(quality);
    double least = std::numeric_limits<double>::infinity(), largest = -least;
    for (int q = static_cast<int>(vertices_.size()); q < geometry_.points(); ++q) {
      least = std::min(least, geometry_.determinant(q));
      largest = std::max(largest, geometry_.determinant(q));
    }
    quality.jacobian = least / largest;
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      const double* x = geometry_.point(static_cast<int>(v));
      vertices_[v] = Vector(x[0], x[1], x[2]);
    }
    quality.aspect = is_tensor(mesh_->shape) ? aspect_of_tensor_cell(vertices_) : aspect_of_simplex(vertices_);
    return quality;
  }

  double smallest_angle(std::int32_t cell) {
    geometry_.move_to(*mesh_, cell);
    CellQuality quality;
    measure_angles(quality);
    return quality.smallest_angle;
  }

  /// The two facets that enclose the smallest angle of a cell.
  std::array<BoundaryFacet, 2> facets_at_smallest_angle(std::int32_t cell) {
    geometry_.move_to(*mesh_, cell);
    CellQuality quality;
    const Corner& corner = measure_angles(quality);
    return {{{cell, corner.first}, {cell, corner.second}}};
  }

 private:
  /// Maps the normals by J^-T n; the angle between two facets is 180 degrees minus the angle between their normals.
  /// Returns the corner with the smallest angle.
  const Corner& measure_angles(CellQuality& quality) {
    const Corner* smallest = corners_.data();
    const int d = mesh_->dimension();
    double entries[9];
    int vertex = -1;
    for (const Corner& corner : corners_) {
      if (corner.vertex != vertex) {
        vertex = corner.vertex;
        geometry_.inverse(vertex, entries);
        mapped_.noalias() =
            Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(entries, d, d).transpose() * normals_;
      }
      const auto a = mapped_.col(corner.first), b = mapped_.col(corner.second);
      const double cosine = std::clamp(-a.dot(b) / (a.norm() * b.norm()), -1.0, 1.0);
      const double angle = std::acos(cosine) * 180 / std::numbers::pi;
      if (angle < quality.smallest_angle) smallest = &corner;
      quality.smallest_angle = std::min(quality.smallest_angle, angle);
      quality.largest_angle = std::max(quality.largest_angle, angle);
    }
    return *smallest;
  }

  const Mesh* mesh_;
  CellGeometry geometry_;
  Eigen::MatrixXd normals_, mapped_;
  std::vector<Corner> corners_;
  std::vector<Vector> vertices_;
};

/// Calls visit(measure, cell) for all cells, in parallel.
template <class Visit>
void measure_cells(const Mesh& mesh, const Eigen::MatrixXd& points, const Visit& visit) {
  const GeometryTables tables(mesh, points);
  parallel_for(
      mesh.cell_count(), [&] { return Measure(mesh, tables); }, visit);
}

/// Number of facet pairs, each of one cell, neither of whose facets belongs to another cell of the region.
std::ptrdiff_t count_sides(const Mesh& mesh, const std::vector<std::array<BoundaryFacet, 2>>& pairs) {
  const FacetVertices vertices(mesh);
  using Facet = std::tuple<std::array<std::int32_t, 4>, std::int32_t>;  // vertices, region
  const auto facet = [&](const BoundaryFacet& f) { return Facet{vertices.key(f), mesh.cell_regions[f.cell]}; };
  std::map<Facet, int> cells_at;
  std::vector<std::int32_t> cells;
  for (const auto& [first, second] : pairs) {
    cells_at[facet(first)] = cells_at[facet(second)] = 0;
    cells.push_back(first.cell);
  }
  const auto count = static_cast<std::int32_t>(facets(mesh.shape).size());
  for (const std::int32_t cell : cells_around(mesh, cells))
    for (std::int32_t f = 0; f < count; ++f)
      if (const auto at = cells_at.find(facet({cell, f})); at != cells_at.end()) ++at->second;
  return std::ranges::count_if(
      pairs, [&](const auto& pair) { return cells_at[facet(pair[0])] == 1 && cells_at[facet(pair[1])] == 1; });
}

/// Factor by which the slivers multiply the iterations of CG with Jacobi's preconditioner: fitted to measurements on
/// the heat sink of cases/ at eight sizes, degrees 1 to 3, within a factor of 1.5.
double expected_slowdown(double smallest_angle) { return 1 + 0.2 * std::pow(std::max(smallest_angle, 1e-4), -0.4); }

}  // namespace

std::vector<CellQuality> cell_qualities(const Mesh& mesh) {
  std::vector<CellQuality> qualities(mesh.cell_count());
  measure_cells(mesh, points_of(mesh), [&](Measure& measure, std::int32_t cell) { qualities[cell] = measure(cell); });
  return qualities;
}

void note_slivers(Mesh& mesh) {
  std::vector<double> angles(mesh.cell_count());
  measure_cells(mesh, reference_vertices(mesh.shape),
                [&](Measure& measure, std::int32_t cell) { angles[cell] = measure.smallest_angle(cell); });
  constexpr double sliver = 5;
  const auto worst = std::ranges::min_element(angles);
  if (*worst >= sliver) return;
  const std::array<double, 3> at = cell_centre(mesh, static_cast<std::int32_t>(worst - angles.begin()));
  const GeometryTables tables(mesh, reference_vertices(mesh.shape));
  Measure measure(mesh, tables);
  std::vector<std::array<BoundaryFacet, 2>> at_angles;
  for (std::int32_t each = 0; each < mesh.cell_count(); ++each)
    if (angles[each] < sliver) at_angles.push_back(measure.facets_at_smallest_angle(each));
  const std::ptrdiff_t sides = count_sides(mesh, at_angles);
  mesh.warnings.push_back(fmt::format(
      "the smallest {}angle of a cell is {:.2g} degrees, at ({:.4g}, {:.4g}{}), and {} of {} cells have one below "
      "{}{}: CG takes about {:.2g} times the iterations that it takes without such cells",
      mesh.dimension() == 3 ? "dihedral " : "", *worst, at[0], at[1],
      mesh.dimension() == 3 ? fmt::format(", {:.4g}", at[2]) : "", at_angles.size(), mesh.cell_count(), sliver,
      sides > 0 ? fmt::format(" ({} where sides of the part meet at it, which no mesh can mend)", sides) : "",
      expected_slowdown(*worst)));
}

}  // namespace femcg::mesh

#include "solver/inspection/cell_quality.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "mesh/base/first_failure.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/element/reference_cell.hpp"
#include "mesh/geometry.hpp"

namespace femcg::solver {

namespace {

using mesh::CellShape;
using Vector = Eigen::Vector3d;  // z = 0 in the plane

Eigen::MatrixXd reference_vertices(CellShape shape) {
  return mesh::LagrangeBasis(shape, 1, mesh::NodeFamily::equispaced).nodes();
}

/// The outward normals of the facets of the reference cell, dimension x facets.
Eigen::MatrixXd reference_normals(CellShape shape) {
  const int d = mesh::dimension(shape), count = static_cast<int>(mesh::facets(shape).size());
  Eigen::MatrixXd normals = Eigen::MatrixXd::Zero(d, count);
  for (int f = 0; f < count; ++f) {
    if (mesh::is_tensor(shape))
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
  const std::vector<mesh::SubEntity>& facets = mesh::facets(shape);
  const auto has = [&](int f, int vertex) { return std::ranges::count(facets[f].vertices, vertex) > 0; };
  std::vector<Corner> corners;
  for (int vertex = 0; vertex < mesh::vertex_count(shape); ++vertex)
    for (int f = 0; f < static_cast<int>(facets.size()); ++f)
      for (int g = 0; g < f; ++g)
        if (has(f, vertex) && has(g, vertex)) corners.push_back({vertex, f, g});
  return corners;
}

/// The vertices, where angles are measured, then where determinants are compared.
Eigen::MatrixXd points_of(const mesh::Mesh& mesh) {
  const Eigen::MatrixXd vertices = reference_vertices(mesh.shape);
  const Eigen::MatrixXd lattice = mesh::LagrangeBasis(mesh.shape, mesh.order, mesh::NodeFamily::equispaced).nodes();
  const Eigen::MatrixXd gauss = mesh::cell_quadrature(mesh.shape, mesh.order + 1).points;
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

/// Qualities cell by cell; one a thread, for its scratch memory.
class Measure {
 public:
  Measure(const mesh::Mesh& mesh, const mesh::GeometryTables& tables)
      : mesh_(&mesh),
        geometry_(tables),
        normals_(reference_normals(mesh.shape)),
        corners_(corners_of(mesh.shape)),
        vertices_(mesh::vertex_count(mesh.shape)) {}

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
    quality.aspect = mesh::is_tensor(mesh_->shape) ? aspect_of_tensor_cell(vertices_) : aspect_of_simplex(vertices_);
    return quality;
  }

 private:
  /// Normals become J^-T n; the angle of the cell between two facets is what their normals' lacks to 180 degrees.
  void measure_angles(CellQuality& quality) {
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
      quality.smallest_angle = std::min(quality.smallest_angle, angle);
      quality.largest_angle = std::max(quality.largest_angle, angle);
    }
  }

  const mesh::Mesh* mesh_;
  mesh::CellGeometry geometry_;
  Eigen::MatrixXd normals_, mapped_;
  std::vector<Corner> corners_;
  std::vector<Vector> vertices_;
};

}  // namespace

std::vector<CellQuality> cell_qualities(const mesh::Mesh& mesh) {
  std::vector<CellQuality> qualities(mesh.cell_count());
  const mesh::GeometryTables tables(mesh, points_of(mesh));
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::unique_ptr<Measure> measure;
    failure.guard(mesh::FirstFailure::preparation, [&] { measure = std::make_unique<Measure>(mesh, tables); });
#pragma omp for schedule(static)
    for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
      failure.guard(cell, [&] { qualities[cell] = (*measure)(cell); });
  }
  failure.rethrow();
  return qualities;
}

}  // namespace femcg::solver

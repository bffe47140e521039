#include <Eigen/Dense>
#include <array>
#include <vector>

#include "mesh/vtu/vtu.hpp"

namespace femcg::mesh {
namespace {

using Point = Eigen::Vector3i;  // reference coordinates times the degree
using Points = std::vector<Point>;

/// Inner points of the edge from a to b, divided into p.
void append_edge(Points& points, const Point& a, const Point& b, int p) {
  for (int k = 1; k < p; ++k) points.push_back(a + k * (b - a) / p);
}

/// Inner points of the parallelogram a + [0,1] (b - a) + [0,1] (c - a), the direction of b fastest.
void append_quadrilateral_interior(Points& points, const Point& a, const Point& b, const Point& c, int p) {
  for (int j = 1; j < p; ++j) append_edge(points, a + j * (c - a) / p, b + j * (c - a) / p, p);
}

void append_triangle(Points& points, const Point& a, const Point& b, const Point& c, int p);

/// The inner points form a triangle of degree p - 3, in the same order.
void append_triangle_interior(Points& points, const Point& a, const Point& b, const Point& c, int p) {
  if (p < 3) return;
  const Point sum = a + b + c;
  const auto inner = [&](const Point& corner) -> Point { return (corner * (p - 3) + sum) / p; };
  append_triangle(points, inner(a), inner(b), inner(c), p - 3);
}

void append_triangle(Points& points, const Point& a, const Point& b, const Point& c, int p) {
  points.push_back(a);
  if (p == 0) return;
  points.insert(points.end(), {b, c});
  append_edge(points, a, b, p);
  append_edge(points, b, c, p);
  append_edge(points, c, a, p);
  append_triangle_interior(points, a, b, c, p);
}

/// Corners, edges, faces, and an inner tetrahedron of degree p - 4.
void append_tetrahedron(Points& points, const Point& a, const Point& b, const Point& c, const Point& d, int p) {
  points.push_back(a);
  if (p == 0) return;
  points.insert(points.end(), {b, c, d});
  append_edge(points, a, b, p);
  append_edge(points, b, c, p);
  append_edge(points, c, a, p);
  for (const Point& base : {a, b, c}) append_edge(points, base, d, p);
  append_triangle_interior(points, a, b, d, p);
  append_triangle_interior(points, c, d, b, p);
  append_triangle_interior(points, a, d, c, p);
  append_triangle_interior(points, a, c, b, p);
  if (p < 4) return;
  const Point sum = a + b + c + d;
  const auto inner = [&](const Point& corner) -> Point { return (corner * (p - 4) + sum) / p; };
  append_tetrahedron(points, inner(a), inner(b), inner(c), inner(d), p - 4);
}

/// Corners counter-clockwise; edges in the same order, but each in the direction of its axis; interior.
void append_quadrilateral(Points& points, int p) {
  const Point a(0, 0, 0), b(p, 0, 0), c(p, p, 0), d(0, p, 0);
  points.insert(points.end(), {a, b, c, d});
  append_edge(points, a, b, p);
  append_edge(points, b, c, p);
  append_edge(points, d, c, p);
  append_edge(points, a, d, p);
  append_quadrilateral_interior(points, a, b, d, p);
}

/// Corners; edges of the bottom, of the top, vertical edges; faces x = 0, 1, y = 0, 1, z = 0, 1; interior.
void append_hexahedron(Points& points, int p) {
  const Point o(0, 0, 0), x(p, 0, 0), y(0, p, 0), z(0, 0, p);
  const std::array<Point, 4> ring{o, x, x + y, y};
  for (const Point& base : {o, z})
    for (const Point& corner : ring) points.push_back(base + corner);
  for (const Point& base : {o, z}) {
    append_edge(points, base, base + x, p);
    append_edge(points, base + x, base + x + y, p);
    append_edge(points, base + y, base + x + y, p);
    append_edge(points, base, base + y, p);
  }
  for (const Point& corner : ring) append_edge(points, corner, corner + z, p);
  for (const Point& base : {o, x}) append_quadrilateral_interior(points, base, base + y, base + z, p);
  for (const Point& base : {o, y}) append_quadrilateral_interior(points, base, base + x, base + z, p);
  for (const Point& base : {o, z}) append_quadrilateral_interior(points, base, base + x, base + y, p);
  for (int k = 1; k < p; ++k) {
    const Point base = k * z / p;
    append_quadrilateral_interior(points, base, base + x, base + y, p);
  }
}

}  // namespace

Eigen::MatrixXd vtk_lagrange_points(CellShape shape, int degree) {
  const int p = degree;
  const Point o(0, 0, 0), x(p, 0, 0), y(0, p, 0), z(0, 0, p);
  Points points;
  switch (shape) {
    case CellShape::quadrilateral:
      append_quadrilateral(points, p);
      break;
    case CellShape::triangle:
      append_triangle(points, o, x, y, p);
      break;
    case CellShape::hexahedron:
      append_hexahedron(points, p);
      break;
    case CellShape::tetrahedron:
      append_tetrahedron(points, o, x, y, z, p);
      break;
  }
  Eigen::MatrixXd coordinates(dimension(shape), points.size());
  for (std::size_t n = 0; n < points.size(); ++n)
    coordinates.col(n) = points[n].head(dimension(shape)).cast<double>() / p;
  return coordinates;
}

}  // namespace femcg::mesh

#include "mesh/gmsh/decks/deck_elements.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace femcg::mesh {

namespace {

struct Shape {
  int dimension, nodes, corners, order;
};
/// Wedges and pyramids have no reference nodes; they are refused by name.
constexpr std::array<Shape, 14> shapes{{{1, 2, 2, 1},
                                        {1, 3, 2, 2},
                                        {2, 3, 3, 1},
                                        {2, 4, 4, 1},
                                        {2, 6, 3, 2},
                                        {2, 8, 4, 2},
                                        {3, 4, 4, 1},
                                        {3, 5, 5, 1},
                                        {3, 6, 6, 1},
                                        {3, 8, 8, 1},
                                        {3, 10, 4, 2},
                                        {3, 13, 5, 2},
                                        {3, 15, 6, 2},
                                        {3, 20, 8, 2}}};

using Edges = std::vector<std::array<int, 2>>;

const Edges& edges_of(const Shape& shape) {
  static const Edges none, triangle{{0, 1}, {1, 2}, {2, 0}}, quadrilateral{{0, 1}, {1, 2}, {2, 3}, {3, 0}},
      tetrahedron{{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}},
      hexahedron{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
  if (shape.dimension == 2) return shape.corners == 3 ? triangle : quadrilateral;
  if (shape.dimension == 3 && shape.corners == 4) return tetrahedron;
  return shape.dimension == 3 && shape.corners == 8 ? hexahedron : none;
}

/// Reference coordinates of the nodes, on [-1, 1]^d or the unit simplex.
std::vector<double> reference_nodes(const Shape& shape) {
  using Point = std::array<double, 3>;
  const int d = shape.dimension;
  std::vector<Point> points;
  if (shape.corners == d + 1 && d > 1)
    points = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  else
    points = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}};
  points.resize(static_cast<std::size_t>(shape.corners));
  for (const auto& [a, b] : edges_of(shape)) {
    if (points.size() == static_cast<std::size_t>(shape.nodes)) break;
    Point middle{};
    for (std::size_t i = 0; i < 3; ++i) middle[i] = (points[a][i] + points[b][i]) / 2;
    points.push_back(middle);
  }
  points.resize(static_cast<std::size_t>(shape.nodes));
  std::vector<double> coordinates;
  for (const Point& point : points) coordinates.insert(coordinates.end(), point.begin(), point.begin() + d);
  return coordinates;
}

}  // namespace

std::optional<ElementType> deck_element_type(int dimension, int nodes, std::string name) {
  for (const Shape& shape : shapes)
    if (shape.dimension == dimension && shape.nodes == nodes)
      return ElementType{std::move(name), dimension, shape.order, nodes, shape.corners, reference_nodes(shape)};
  return std::nullopt;
}

const std::vector<std::vector<int>>& deck_faces(int dimension, int corners) {
  static const std::vector<std::vector<int>> none, triangle{{0, 1}, {1, 2}, {2, 0}},
      quadrilateral{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, tetrahedron{{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}},
      hexahedron{{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1}, {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}},
      wedge{{0, 1, 2}, {3, 5, 4}, {0, 3, 4, 1}, {1, 4, 5, 2}, {2, 5, 3, 0}};
  if (dimension == 2) return corners == 3 ? triangle : quadrilateral;
  if (dimension == 3 && corners == 4) return tetrahedron;
  if (dimension == 3 && corners == 6) return wedge;
  return dimension == 3 && corners == 8 ? hexahedron : none;
}

}  // namespace femcg::mesh

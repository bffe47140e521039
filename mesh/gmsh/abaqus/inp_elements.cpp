#include "mesh/gmsh/abaqus/inp_elements.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "mesh/gmsh/abaqus/inp_lines.hpp"

namespace femcg::mesh {

namespace {

struct Family {
  std::string_view prefix;
  int dimension;
};

/// A longer prefix before those that it begins with.
constexpr std::array<Family, 15> families{{{"AC3D", 3},
                                           {"C3D", 3},
                                           {"SFM3D", 2},
                                           {"AC2D", 2},
                                           {"CPEG", 2},
                                           {"CPE", 2},
                                           {"CPS", 2},
                                           {"C2D", 2},
                                           {"STRI", 2},
                                           {"M3D", 2},
                                           {"R3D", 2},
                                           {"T2D", 1},
                                           {"T3D", 1},
                                           {"R2D", 1},
                                           {"S", 2}}};

struct Shape {
  int dimension, nodes, corners, order;
};
constexpr std::array<Shape, 11> shapes{{{1, 2, 2, 1},
                                        {2, 3, 3, 1},
                                        {2, 4, 4, 1},
                                        {2, 6, 3, 2},
                                        {2, 8, 4, 2},
                                        {3, 4, 4, 1},
                                        {3, 5, 5, 1},
                                        {3, 6, 6, 1},
                                        {3, 8, 8, 1},
                                        {3, 10, 4, 2},
                                        {3, 15, 6, 2}}};

/// Of the vertices, then of the middles of edges in Abaqus's order, on [-1, 1]^d or the unit simplex. Shapes that there
/// are no cells for have none: they are refused by their names.
std::vector<double> reference_nodes(const Shape& shape) {
  using Point = std::array<double, 3>;
  const int d = shape.dimension;
  std::vector<Point> points;
  std::vector<std::array<int, 2>> edges;
  if (shape.corners == d + 1 && d > 1) {
    points = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    edges = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
  } else {
    points = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}};
  }
  points.resize(static_cast<std::size_t>(shape.corners));
  for (std::size_t e = 0; points.size() < static_cast<std::size_t>(shape.nodes) && e < edges.size(); ++e) {
    Point middle{};
    for (std::size_t i = 0; i < 3; ++i) middle[i] = (points[edges[e][0]][i] + points[edges[e][1]][i]) / 2;
    points.push_back(middle);
  }
  points.resize(static_cast<std::size_t>(shape.nodes));
  std::vector<double> coordinates;
  for (const Point& point : points) coordinates.insert(coordinates.end(), point.begin(), point.begin() + d);
  return coordinates;
}

ElementType element_type(const Shape& shape, std::string name) {
  return {std::move(name), shape.dimension, shape.order, shape.nodes, shape.corners, reference_nodes(shape)};
}

/// The number of nodes that the digits say: 10 of "10M", 6 of STRI65 and 8 of S8R5, whose last digit is something else.
int node_count(std::string_view family, std::string_view digits) {
  int count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || count > 99) break;
    count = 10 * count + (c - '0');
  }
  return family == "STRI" && count == 65 ? 6 : count;
}

}  // namespace

std::optional<ElementType> inp_element_type(std::string_view type) {
  const std::string name = upper_case(type);
  std::string_view rest = name;
  if (rest.starts_with("DC") || rest.starts_with("DS")) rest.remove_prefix(1);  // for heat transfer
  for (const Family& family : families) {
    if (!rest.starts_with(family.prefix)) continue;
    const int nodes = node_count(family.prefix, rest.substr(family.prefix.size()));
    for (const Shape& shape : shapes)
      if (shape.dimension == family.dimension && shape.nodes == nodes) return element_type(shape, name);
    // Complete and serendipity hexahedra: to be refused with their nodes counted.
    if (family.dimension == 3 && nodes == 20) return element_type({3, 20, 8, 2}, name);
    return std::nullopt;
  }
  return std::nullopt;
}

ElementType inp_facet_type(int dimension, int corners) {
  return element_type({dimension, corners, corners, 1}, fmt::format("face of {} vertices", corners));
}

const std::vector<std::vector<int>>& inp_faces(int dimension, int corners) {
  static const std::vector<std::vector<int>> none, triangle{{0, 1}, {1, 2}, {2, 0}},
      quadrilateral{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, tetrahedron{{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}},
      hexahedron{{0, 1, 2, 3}, {4, 7, 6, 5}, {0, 4, 5, 1}, {1, 5, 6, 2}, {2, 6, 7, 3}, {3, 7, 4, 0}};
  if (dimension == 2) return corners == 3 ? triangle : quadrilateral;
  if (dimension == 3 && corners == 4) return tetrahedron;
  return dimension == 3 && corners == 8 ? hexahedron : none;
}

}  // namespace femcg::mesh

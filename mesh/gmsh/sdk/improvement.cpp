#include "mesh/gmsh/sdk/improvement.hpp"

#include <fmt/format.h>
#include <gmsh.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mesh/improve/improve.hpp"

namespace femcg::mesh {

namespace {

/// Gmsh's type numbers of the simplices of each dimension, of order 1 and 2.
constexpr std::array<int, 4> linear_types{15, 1, 2, 4}, quadratic_types{15, 8, 9, 11};
/// Vertices at the ends of the edges of a quadratic simplex, in the order of their midpoints, which follow the
/// vertices.
constexpr std::array<std::pair<int, int>, 6> edges_of_simplex{{{0, 1}, {1, 2}, {2, 0}, {3, 0}, {2, 3}, {1, 3}}};

/// Nodes on one entity of Gmsh's model, by tag; on a surface with their parameters.
struct EntityNodes {
  std::vector<std::size_t> tags;
  std::vector<double> points, parameters;

  void add(std::size_t tag, const Vector3& point) {
    tags.push_back(tag);
    points.insert(points.end(), {point.x, point.y, point.z});
  }
};
using NodesByEntity = std::map<std::pair<int, int>, EntityNodes>;  // dimension, tag

gmsh::vectorpair entities_of(int dimension) {
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, dimension);
  return entities;
}

/// True if volumes have only linear tetrahedra, surfaces have their facets, and no entity is discrete.
bool consists_of_tetrahedra() {
  for (const int dimension : {2, 3})
    for (const auto& [d, tag] : entities_of(dimension)) {
      std::string kind;
      gmsh::model::getType(d, tag, kind);
      std::vector<int> types;
      gmsh::model::mesh::getElementTypes(types, d, tag);
      if (kind.starts_with("Discrete") || types != std::vector(types.size(), linear_types[dimension])) return false;
    }
  return gmsh::model::getDimension() == 3;
}

NodesByEntity nodes_by_entity() {
  NodesByEntity all;
  for (int dimension = 0; dimension <= 3; ++dimension)
    for (const auto& [d, tag] : entities_of(dimension)) {
      EntityNodes& nodes = all[{d, tag}];
      gmsh::model::mesh::getNodes(nodes.tags, nodes.points, nodes.parameters, d, tag);
    }
  return all;
}

/// Calls visit(entity, nodes) for each element of a type; vertices come first.
template <class Visit>
void for_each_element(int dimension, int type, std::size_t nodes_of_one, Visit&& visit) {
  for (const auto& [d, tag] : entities_of(dimension)) {
    std::vector<std::size_t> elements, nodes;
    gmsh::model::mesh::getElementsByType(type, elements, nodes, tag);
    for (std::size_t i = 0; i < nodes.size(); i += nodes_of_one) visit(tag, nodes.data() + i);
  }
}

template <std::size_t K>
void read_simplices(const std::array<int, 4>& types, Simplices<K>& simplices) {
  const std::size_t nodes_of_one = types == linear_types ? K : K * (K + 1) / 2;
  for_each_element(K - 1, types[K - 1], nodes_of_one, [&](int entity, const std::size_t* nodes) {
    std::array<std::int32_t, K> vertices;
    std::transform(nodes, nodes + K, vertices.begin(), [](std::size_t n) { return static_cast<std::int32_t>(n); });
    simplices.add(vertices, entity);
  });
}

/// Moves a point onto a nearby surface; returns its parameters there, or nothing if the surface has none. (Gmsh 4.8
/// returns wrong parameters from getClosestPoint.)
std::vector<double> project(int surface, Vector3& point) {
  std::vector<double> parameters, value;
  try {
    gmsh::model::getParametrization(2, surface, {point.x, point.y, point.z}, parameters);
    gmsh::model::getValue(2, surface, parameters, value);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return {};
  }
  if (parameters.size() != 2 || value.size() != 3) return {};
  point = {value[0], value[1], value[2]};
  return parameters;
}

/// True if nodes of this surface can be moved on it.
bool can_project(int surface, const EntityNodes& nodes) {
  if (nodes.tags.empty() || nodes.parameters.size() != 2 * nodes.tags.size()) return false;
  Vector3 point{nodes.points[0], nodes.points[1], nodes.points[2]};
  return !project(surface, point).empty();
}

/// Reads the tetrahedra; vertex numbers are Gmsh's node tags.
TetrahedralMesh read_mesh(const std::array<int, 4>& types, const NodesByEntity& nodes) {
  std::size_t end = 0;
  for (const auto& [entity, of] : nodes)
    for (const std::size_t tag : of.tags) end = std::max(end, tag + 1);
  TetrahedralMesh mesh(end);
  for (const auto& [entity, of] : nodes) {
    const bool stays = entity.first == 2 && !can_project(entity.second, of);
    for (std::size_t i = 0; i < of.tags.size(); ++i) {
      mesh.points[of.tags[i]] = {of.points[3 * i], of.points[3 * i + 1], of.points[3 * i + 2]};
      mesh.dimensions[of.tags[i]] = stays ? 0 : entity.first;
    }
  }
  read_simplices(types, mesh.cells);
  read_simplices(types, mesh.facets);
  read_simplices(types, mesh.edges);
  return mesh;
}

/// Moves Gmsh's nodes to their new points.
void move_nodes(const TetrahedralMesh& mesh, int dimension, int entity, EntityNodes& nodes) {
  for (std::size_t i = 0; i < nodes.tags.size(); ++i) {
    Vector3 point = mesh.points[nodes.tags[i]];
    double* const x = nodes.points.data() + 3 * i;
    if (point == Vector3{x[0], x[1], x[2]}) continue;
    if (dimension == 2) std::ranges::copy(project(entity, point), nodes.parameters.begin() + 2 * i);
    std::ranges::copy(std::array{point.x, point.y, point.z}, x);
  }
}

/// Adds the new vertices of volumes and surfaces to Gmsh's nodes.
void add_new_nodes(const TetrahedralMesh& mesh, std::size_t first, NodesByEntity& nodes) {
  for (std::size_t v = first; v < mesh.points.size(); ++v) {
    const auto vertex = static_cast<std::int32_t>(v);
    Vector3 point = mesh.points[v];
    const bool in_volume = mesh.dimensions[v] == 3;
    const int entity = in_volume ? mesh.cells.entity(mesh.cells.at(vertex).front())
                                 : mesh.facets.entity(mesh.facets.at(vertex).front());
    EntityNodes& of = nodes[{mesh.dimensions[v], entity}];
    of.add(v, point);
    if (!in_volume) std::ranges::copy(project(entity, point), std::back_inserter(of.parameters));
  }
}

template <std::size_t K>
std::map<int, std::vector<std::size_t>> vertices_by_entity(const Simplices<K>& simplices) {
  std::map<int, std::vector<std::size_t>> vertices;
  for (std::int32_t i = 0; i < simplices.end(); ++i)
    if (simplices.contains(i))
      std::ranges::copy(simplices.vertices(i), std::back_inserter(vertices[simplices.entity(i)]));
  return vertices;
}

template <std::size_t K>
void write_linear(const TetrahedralMesh& mesh, const Simplices<K>& simplices, NodesByEntity& nodes) {
  constexpr int dimension = K - 1;
  std::map<int, std::vector<std::size_t>> vertices = vertices_by_entity(simplices);
  for (const auto& [d, tag] : entities_of(dimension)) {
    EntityNodes& of = nodes[{d, tag}];
    move_nodes(mesh, d, tag, of);
    gmsh::model::mesh::addNodes(d, tag, of.tags, of.points, of.parameters);
    gmsh::model::mesh::addElementsByType(tag, linear_types[dimension], {}, vertices[tag]);
  }
}

using Middles = std::map<std::pair<std::size_t, std::size_t>, std::size_t>;  // by the edge's vertices, the lesser first

/// Midpoints of edges on surfaces and curves. These edges stay in the mesh, curved as their quadratic elements are.
Middles read_curved_surfaces(TetrahedralMesh& mesh) {
  Middles middles;
  for (int& dimension : mesh.dimensions) dimension = dimension == 3 ? 3 : 0;
  const auto add = [&](std::size_t v, std::size_t w, std::size_t middle) {
    if (v > w) std::swap(v, w);
    if (!middles.try_emplace({v, w}, middle).second) return;
    const auto a = static_cast<std::int32_t>(v), b = static_cast<std::int32_t>(w);
    mesh.edges.add({a, b}, 0);
    const Vector3 offset = mesh.points[middle] - 0.5 * (mesh.points[v] + mesh.points[w]);
    constexpr double rounding = 1e-9;
    if (norm(offset) < rounding * norm(mesh.points[w] - mesh.points[v])) return;
    mesh.bows[v].push_back({b, offset});
    mesh.bows[w].push_back({a, offset});
  };
  for_each_element(1, quadratic_types[1], 3, [&](int, const std::size_t* n) { add(n[0], n[1], n[2]); });
  for_each_element(2, quadratic_types[2], 6, [&](int, const std::size_t* n) {
    for (int edge = 0; edge < 3; ++edge)
      add(n[edges_of_simplex[edge].first], n[edges_of_simplex[edge].second], n[3 + edge]);
  });
  return middles;
}

/// Writes the quadratic cells and the nodes inside volumes, where edges are straight.
void write_quadratic_cells(const TetrahedralMesh& mesh, Middles& middles) {
  std::size_t next = mesh.points.size();
  for (auto& [tag, vertices] : vertices_by_entity(mesh.cells)) {
    EntityNodes inner;
    std::vector<char> added(mesh.points.size(), 0);
    std::vector<std::size_t> nodes;
    for (auto cell = vertices.begin(); cell != vertices.end(); cell += 4) {
      for (int v = 0; v < 4; ++v) {
        if (mesh.dimensions[cell[v]] == 3 && !std::exchange(added[cell[v]], 1))
          inner.add(cell[v], mesh.points[cell[v]]);
        nodes.push_back(cell[v]);
      }
      for (const auto& [first, second] : edges_of_simplex) {
        const auto [v, w] = std::minmax(cell[first], cell[second]);
        const auto [middle, is_new] = middles.try_emplace({v, w}, next);
        if (is_new) inner.add(next++, 0.5 * (mesh.points[v] + mesh.points[w]));
        nodes.push_back(middle->second);
      }
    }
    gmsh::model::mesh::addNodes(3, tag, inner.tags, inner.points);
    gmsh::model::mesh::addElementsByType(tag, quadratic_types[3], {}, nodes);
  }
}

/// Raises the order with AbortOnError off: otherwise Gmsh stops at an earlier error, such as a point that could not be
/// placed on a surface.
void set_order(int order) {
  constexpr const char* option = "General.AbortOnError";
  double before = 0;
  gmsh::option::getNumber(option, before);
  gmsh::option::setNumber(option, 0);
  gmsh::model::mesh::setOrder(order);
  gmsh::option::setNumber(option, before);
  std::vector<int> types;
  gmsh::model::mesh::getElementTypes(types);
  for (const int type : types) {
    std::string name;
    int dimension = 0, reached = 0, count = 0, primary = 0;
    std::vector<double> points;
    gmsh::model::mesh::getElementProperties(type, name, dimension, reached, count, points, primary);
    if (dimension > 0 && reached != order)
      throw std::runtime_error(fmt::format(
          "Gmsh could not bend the cells to order {}: take a smaller mesh.size, or mesh.order: {}", order, order - 1));
  }
}

void improve_curved_tetrahedra() {
  TetrahedralMesh mesh = read_mesh(quadratic_types, nodes_by_entity());
  Middles middles = read_curved_surfaces(mesh);
  if (!improve(mesh)) return;
  gmsh::model::mesh::clear(entities_of(3));
  write_quadratic_cells(mesh, middles);
}

}  // namespace

void improve_tetrahedra() {
  if (!consists_of_tetrahedra()) return;
  NodesByEntity nodes = nodes_by_entity();
  TetrahedralMesh mesh = read_mesh(linear_types, nodes);
  mesh.project = [](int surface, Vector3& point) { return !project(surface, point).empty(); };
  const std::size_t before = mesh.points.size();
  if (!improve(mesh)) return;
  gmsh::model::mesh::clear(entities_of(3));
  gmsh::model::mesh::clear(entities_of(2));
  add_new_nodes(mesh, before, nodes);
  write_linear(mesh, mesh.facets, nodes);
  write_linear(mesh, mesh.cells, nodes);
}

void raise_order(int order) {
  if (consists_of_tetrahedra()) {
    set_order(2);
    improve_curved_tetrahedra();
    if (order == 2) return;
  }
  set_order(order);
}

}  // namespace femcg::mesh

#include "mesh/function_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "mesh/first_failure.hpp"
#include "mesh/geometry.hpp"

namespace femcg::mesh {

namespace {

/// The mesh nodes at the vertices of a cell.
std::array<std::int32_t, 8> cell_vertices(const Mesh& mesh, const std::vector<int>& vertex_nodes, std::int32_t cell) {
  std::array<std::int32_t, 8> vertices{};
  const auto nodes = mesh.nodes(cell);
  for (std::size_t v = 0; v < vertex_nodes.size(); ++v) vertices[v] = nodes[vertex_nodes[v]];
  return vertices;
}

/// One use of an entity by a cell, filed under its least vertex; the next two vertices tell it from the others there.
struct Use {
  std::int32_t second, third;
  std::int64_t slot;  ///< position in EntityNumbers::of_cell
  bool operator<(const Use& other) const {
    return std::tie(second, third, slot) < std::tie(other.second, other.third, other.slot);
  }
  bool same_entity(const Use& other) const { return second == other.second && third == other.third; }
};

const std::vector<SubEntity>& entities_of(CellShape shape, int entity_dimension) {
  return entity_dimension == 1 ? edges(shape) : faces(shape);
}

/// What a lattice node belongs to, and where it stands in there.
struct NodePlace {
  int dimension;  ///< of the entity: 0 vertex, 1 edge, 2 face, 3 (or the cell's dimension) interior
  int entity;     ///< local number
  std::array<int, 2>
      index;     ///< on an edge {s, 0} from its first vertex; on a face (s, t) along its first and second vertex
  int interior;  ///< running number among the cell's own nodes
};

/// Corner of the lattice at a local vertex.
std::array<int, 3> corner_index(const Lattice& lattice, int vertex) {
  return lattice.index(lattice.vertex_nodes()[vertex]);
}

/// Whether node a lies strictly inside the entity with these vertices, and its lattice coordinates (in 1..p-1) there.
bool place_in_entity(const Lattice& lattice, int a, const SubEntity& entity, std::array<int, 2>& index) {
  const std::array<int, 3> x = lattice.index(a), origin = corner_index(lattice, entity.vertices[0]);
  std::array<int, 3> rest{x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]};
  const int p = lattice.degree();
  index = {0, 0};
  for (int axis = 0; axis < entity.dimension; ++axis) {
    // Along each of its axes an entity climbs in one coordinate that its other axis leaves alone.
    const std::array<int, 3> end = corner_index(lattice, entity.vertices[axis + 1]);
    int component = 0;
    while (end[component] <= origin[component]) ++component;
    index[axis] = x[component] - origin[component];
    for (int i = 0; i < 3; ++i) rest[i] -= index[axis] * (end[i] - origin[i]) / p;
  }
  if (rest != std::array{0, 0, 0}) return false;
  if (entity.dimension == 1) return index[0] > 0 && index[0] < p;
  const bool quadrilateral = entity.vertices.size() == 4;
  return index[0] > 0 && index[1] > 0 && (quadrilateral ? index[0] < p && index[1] < p : index[0] + index[1] < p);
}

std::vector<NodePlace> node_places(const Lattice& lattice) {
  const CellShape shape = lattice.shape();
  const int d = dimension(shape);
  std::vector<NodePlace> places(lattice.size(), {d, 0, {}, 0});
  int interior = 0;
  for (int a = 0; a < lattice.size(); ++a) {
    NodePlace& place = places[a];
    const auto vertex = std::find(lattice.vertex_nodes().begin(), lattice.vertex_nodes().end(), a);
    if (vertex != lattice.vertex_nodes().end()) {
      place = {0, static_cast<int>(vertex - lattice.vertex_nodes().begin()), {}, 0};
      continue;
    }
    bool found = false;
    for (int e = 1; e < d && !found; ++e) {
      const std::vector<SubEntity>& entities = entities_of(shape, e);
      for (int i = 0; i < static_cast<int>(entities.size()) && !found; ++i) {
        std::array<int, 2> index{};
        found = place_in_entity(lattice, a, entities[i], index);
        if (found) place = {e, i, index, 0};
      }
    }
    if (!found) place.interior = interior++;
  }
  return places;
}

/// Position of an inner edge node, counted from the end with the smaller global vertex.
int edge_position(int s, int degree, std::int32_t first, std::int32_t second) {
  return first < second ? s - 1 : degree - s - 1;
}

/// Position of an inner node of a triangular face: its barycentric indices, taken in the order of the global vertices.
int triangle_position(std::array<int, 2> index, int degree, const std::array<std::int32_t, 4>& vertices) {
  std::array<std::pair<std::int32_t, int>, 3> corners{
      {{vertices[0], degree - index[0] - index[1]}, {vertices[1], index[0]}, {vertices[2], index[1]}}};
  std::sort(corners.begin(), corners.end());
  const int i = corners[1].second - 1, j = corners[2].second - 1;
  const int n = degree - 2;  // nodes along an inner row
  return j * n - j * (j - 1) / 2 + i;
}

/// Position of an inner node of a quadrilateral face: counted from the least global vertex, first towards the lesser of
/// its two neighbours.
int quadrilateral_position(std::array<int, 2> index, int degree, const std::array<std::int32_t, 4>& vertices) {
  const int corner = static_cast<int>(std::min_element(vertices.begin(), vertices.end()) - vertices.begin());
  int s = (corner & 1) ? degree - index[0] : index[0];
  int t = (corner & 2) ? degree - index[1] : index[1];
  if (vertices[corner ^ 1] > vertices[corner ^ 2]) std::swap(s, t);
  return (t - 1) * (degree - 1) + s - 1;
}

int entity_size(const SubEntity& entity, int degree) {
  if (entity.dimension == 1) return degree - 1;
  return entity.vertices.size() == 4 ? (degree - 1) * (degree - 1) : (degree - 1) * (degree - 2) / 2;
}

/// Nodes strictly inside a cell: a smaller lattice.
std::int64_t inner_size(CellShape shape, int degree) {
  return lattice_size(shape, degree - (is_tensor(shape) ? 2 : dimension(shape) + 1));
}

/// Throws where `count` dofs, some of a space or all, are more than 32 bits number.
void check_dof_count(std::int64_t count, const Mesh& mesh, int degree) {
  if (count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error(fmt::format(
        "{} cells of degree {} have {} or more degrees of freedom, but no more than 2^31 - 1 can be numbered; take "
        "fewer cells or a lower degree",
        mesh.cell_count(), degree, count));
}

/// A lower bound that costs nothing: the cells' inner dofs, and those of facets, which no more than two cells share.
std::int64_t least_dof_count(const Mesh& mesh, int degree) {
  const std::vector<SubEntity>& sides = facets(mesh.shape);
  const std::int64_t of_facets = static_cast<std::int64_t>(sides.size()) * entity_size(sides[0], degree);
  return mesh.cell_count() * inner_size(mesh.shape, degree) + mesh.cell_count() * of_facets / 2;
}

std::int64_t vertex_count(const Mesh& mesh, const std::vector<int>& vertex_nodes) {
  std::vector<char> used(mesh.node_count(), 0);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell)
    for (const int v : vertex_nodes) used[mesh.nodes(cell)[v]] = 1;
  return std::count(used.begin(), used.end(), 1);
}

/// Lattice nodes on the closure of each facet: those whose basis functions do not vanish there.
std::vector<std::vector<int>> nodes_of_facets(const LagrangeBasis& basis) {
  std::vector<std::vector<int>> nodes(facets(basis.shape()).size());
  for (int f = 0; f < static_cast<int>(nodes.size()); ++f) {
    const Eigen::MatrixXd values = basis.values(facet_quadrature(basis.shape(), f, basis.degree() + 1).points);
    for (int a = 0; a < basis.size(); ++a)
      if (values.col(a).cwiseAbs().maxCoeff() > 1e-10) nodes[f].push_back(a);
  }
  return nodes;
}

}  // namespace

EntityNumbers number_entities(const Mesh& mesh, int entity_dimension) {
  const std::vector<SubEntity>& entities = entities_of(mesh.shape, entity_dimension);
  const int per_cell = static_cast<int>(entities.size());
  const std::vector<int> vertex_nodes = Lattice(mesh.shape, mesh.order).vertex_nodes();
  const auto sorted_vertices = [&](const std::array<std::int32_t, 8>& cell, const SubEntity& entity) {
    std::array<std::int32_t, 4> sorted{-1, -1, -1, -1};
    for (std::size_t v = 0; v < entity.vertices.size(); ++v) sorted[v] = cell[entity.vertices[v]];
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(entity.vertices.size()));
    return sorted;
  };

  // A counting sort by least vertex, then a short sort of what meets at each vertex.
  std::vector<std::int64_t> begin(mesh.node_count() + 1, 0);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto vertices = cell_vertices(mesh, vertex_nodes, cell);
    for (const SubEntity& entity : entities) ++begin[sorted_vertices(vertices, entity)[0] + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Use> uses(begin.back());
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto vertices = cell_vertices(mesh, vertex_nodes, cell);
    for (int e = 0; e < per_cell; ++e) {
      const auto key = sorted_vertices(vertices, entities[e]);
      uses[next[key[0]]++] = {key[1], key[2], std::int64_t{cell} * per_cell + e};
    }
  }
  EntityNumbers numbers;
  numbers.of_cell.resize(std::int64_t{mesh.cell_count()} * per_cell);
#pragma omp parallel for schedule(static)
  for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex)
    std::sort(uses.begin() + begin[vertex], uses.begin() + begin[vertex + 1]);
  std::int64_t count = 0;
  for (std::int32_t vertex = 0; vertex < mesh.node_count(); ++vertex)
    for (std::int64_t u = begin[vertex]; u < begin[vertex + 1]; ++u) {
      if (u == begin[vertex] || !uses[u].same_entity(uses[u - 1])) ++count;
      numbers.of_cell[uses[u].slot] = static_cast<std::int32_t>(count - 1);
    }
  if (count > std::numeric_limits<std::int32_t>::max())
    throw std::length_error("the mesh has more than 2^31 - 1 edges or faces");
  numbers.count = static_cast<std::int32_t>(count);
  return numbers;
}

FunctionSpace::FunctionSpace(const Mesh& mesh, int degree, NodeFamily family)
    : mesh_(&mesh), basis_(mesh.shape, degree, family) {
  if (degree < 1 || degree > 2 * max_degree) throw std::invalid_argument("a function space has degree 1 to 4");
  facet_nodes_ = nodes_of_facets(basis_);
  const Lattice& lattice = basis_.lattice();
  const int d = mesh.dimension(), n = lattice.size();
  const std::vector<NodePlace> places = node_places(lattice);
  const std::vector<int> vertex_nodes = Lattice(mesh.shape, mesh.order).vertex_nodes();

  check_dof_count(least_dof_count(mesh, degree), mesh, degree);

  // First dof of every vertex, edge and face, given out when a cell first meets it.
  std::array<EntityNumbers, 3> numbers;
  std::array<std::vector<std::int32_t>, 3> first;
  first[0].assign(mesh.node_count(), -1);
  std::int64_t total = vertex_count(mesh, vertex_nodes) + mesh.cell_count() * inner_size(mesh.shape, degree);
  for (int e = 1; e < d && degree > 1; ++e) {
    numbers[e] = number_entities(mesh, e);
    first[e].assign(numbers[e].count, -1);
    total += std::int64_t{numbers[e].count} * entity_size(entities_of(mesh.shape, e)[0], degree);
    check_dof_count(total, mesh, degree);
  }
  cell_dofs_.resize(std::int64_t{mesh.cell_count()} * n);
  std::int64_t count = 0;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); ++cell) {
    const auto vertices = cell_vertices(mesh, vertex_nodes, cell);
    std::int32_t* dofs = cell_dofs_.data() + std::int64_t{cell} * n;
    std::int64_t interior = -1;
    for (int a = 0; a < n; ++a) {
      const NodePlace& place = places[a];
      if (place.dimension == d) {
        if (interior < 0) {
          interior = count;
          count += inner_size(mesh.shape, degree);
        }
        dofs[a] = static_cast<std::int32_t>(interior + place.interior);
        continue;
      }
      if (place.dimension == 0) {
        std::int32_t& dof = first[0][vertices[place.entity]];
        if (dof < 0) dof = static_cast<std::int32_t>(count++);
        dofs[a] = dof;
        continue;
      }
      const std::vector<SubEntity>& entities = entities_of(mesh.shape, place.dimension);
      const SubEntity& entity = entities[place.entity];
      const std::int32_t id =
          numbers[place.dimension]
              .of_cell[std::int64_t{cell} * static_cast<std::int64_t>(entities.size()) + place.entity];
      std::int32_t& dof = first[place.dimension][id];
      if (dof < 0) {
        dof = static_cast<std::int32_t>(count);
        count += entity_size(entity, degree);
      }
      std::array<std::int32_t, 4> corners{};
      for (std::size_t v = 0; v < entity.vertices.size(); ++v) corners[v] = vertices[entity.vertices[v]];
      int position = 0;
      if (place.dimension == 1)
        position = edge_position(place.index[0], degree, corners[0], corners[1]);
      else if (entity.vertices.size() == 3)
        position = triangle_position(place.index, degree, corners);
      else
        position = quadrilateral_position(place.index, degree, corners);
      dofs[a] = dof + position;
    }
  }
  assert(count == total);
  dof_count_ = static_cast<std::int32_t>(count);
}

void FunctionSpace::renumber(std::span<const std::int32_t> order) {
  if (order.size() != static_cast<std::size_t>(dof_count_))
    throw std::invalid_argument("a renumbering needs one entry a dof");
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < cell_dofs_.size(); ++i) cell_dofs_[i] = order[cell_dofs_[i]];
}

std::vector<double> FunctionSpace::dof_points() const {
  const int d = mesh_->dimension();
  // Cells that share a dof agree on its point only to rounding: the first one says where it is.
  std::vector<std::int32_t> owner(dof_count_, -1);
  for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
    for (const std::int32_t dof : dofs(cell))
      if (owner[dof] < 0) owner[dof] = cell;

  std::vector<double> points(std::int64_t{dof_count_} * d);
  const GeometryTables tables(*mesh_, basis_.nodes());
  FirstFailure failure;
#pragma omp parallel
  {
    std::optional<CellGeometry> geometry;
    failure.guard(FirstFailure::preparation, [&] { geometry.emplace(tables); });
#pragma omp for schedule(static)
    for (std::int32_t cell = 0; cell < mesh_->cell_count(); ++cell)
      failure.guard(cell, [&] {
        geometry->move_to(*mesh_, cell);
        for (int a = 0; a < dofs_per_cell(); ++a) {
          const std::int64_t dof = dofs(cell)[a];
          if (owner[dof] == cell) std::copy_n(geometry->point(a), d, points.begin() + dof * d);
        }
      });
  }
  failure.rethrow();
  return points;
}

}  // namespace femcg::mesh

#include "mesh/gmsh/raw/raw_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "mesh/element/reference_cell.hpp"

namespace femcg::mesh {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("what Gmsh made of it is inconsistent: {}", what));
}

int small_number(SharedReader& reader, int least, int most) {
  const std::int64_t number = reader.number();
  if (number < least || number > most) fail("a number is out of range");
  return static_cast<int>(number);
}

constexpr int any = std::numeric_limits<int>::max();
constexpr std::size_t one_number = sizeof(std::int64_t);

ElementType read_type(SharedReader& reader) {
  ElementType type;
  type.name = reader.text();
  type.dimension = small_number(reader, 0, 3);
  type.order = small_number(reader, 0, any);
  type.nodes = small_number(reader, 1, any);
  type.corners = small_number(reader, 0, std::min(type.nodes, 1 << type.dimension));
  const std::span<const double> points = reader.array<double>();
  if (points.size() != static_cast<std::size_t>(type.nodes) * type.dimension) fail("a type lacks reference nodes");
  if (!std::all_of(points.begin(), points.end(), [](double x) { return std::abs(x) < 1.001; }))
    fail("reference nodes lie outside the reference cell");
  type.points.assign(points.begin(), points.end());
  return type;
}

std::vector<ElementBlock> read_blocks(SharedReader& reader, const RawMesh& raw, int dimension) {
  std::vector<ElementBlock> blocks(reader.count_of(3 * one_number));
  for (ElementBlock& block : blocks) {
    block.entity = small_number(reader, -any, any);
    block.type = small_number(reader, 0, any);
    block.nodes = reader.array<std::uint64_t>();
    const auto type = raw.types.find(block.type);
    if (type == raw.types.end() || type->second.dimension != dimension) fail("elements of an unknown type");
    block.nodes_per_element = type->second.nodes;
    block.corners = type->second.corners;
    if (block.nodes.empty() || block.nodes.size() % type->second.nodes != 0) fail("an element lacks nodes");
    const std::uint64_t count = raw.node_count();
    if (!std::all_of(block.nodes.begin(), block.nodes.end(), [&](std::uint64_t n) { return n - 1 < count; }))
      fail("an element uses a node that does not exist");
  }
  return blocks;
}

/// Common type of all cells. Throws if there are several types, or one that this program has no cell for.
ElementType common_type(const RawMesh& raw) {
  std::map<int, std::size_t> counts;
  for (const ElementBlock& block : raw.cells) counts[block.type] += block.size();
  if (counts.size() > 1) {
    std::vector<std::string> list;
    for (const auto& [type, count] : counts)
      list.push_back(fmt::format("{} of type {}", count, raw.types.at(type).name));
    throw std::runtime_error(fmt::format(
        "all cells must be of one type, but there are {}: mesh with simplices only, or so that every cell recombines{}",
        fmt::join(list, ", "), raw.dimension == 3 ? " to a hexahedron" : " to a quadrilateral"));
  }
  const ElementType type = raw.types.at(counts.begin()->first);
  if (type.corners != 1 << type.dimension && type.corners != type.dimension + 1)
    throw std::runtime_error(fmt::format(
        "the cells are of type {}, but must be triangles, quadrilaterals, tetrahedra or hexahedra", type.name));
  return type;
}

CellShape cell_shape(const ElementType& type) {
  if (type.dimension == 2) return type.corners == 3 ? CellShape::triangle : CellShape::quadrilateral;
  return type.corners == 4 ? CellShape::tetrahedron : CellShape::hexahedron;
}

/// True for quadrilaterals of 8 nodes and hexahedra of 20, which lack the nodes inside faces and cells.
bool is_quadratic_serendipity(const ElementType& type) {
  return type.order == 2 && is_tensor(cell_shape(type)) && type.nodes == (type.dimension == 2 ? 8 : 20);
}

/// Lattice node at the position of each node of Gmsh's element.
std::vector<int> lattice_nodes(const ElementType& type) {
  const CellShape shape = cell_shape(type);
  if (type.order < 1 || type.order > max_degree)
    throw std::runtime_error(
        fmt::format("the cells have geometric order {}, but 1 to {} are supported", type.order, max_degree));
  if (type.nodes != lattice_size(shape, type.order) && !is_quadratic_serendipity(type))
    throw std::runtime_error(
        fmt::format("cells of type {} (serendipity) lack the {} inner nodes of complete cells: make the mesh with "
                    "complete cells, in Gmsh with Mesh.SecondOrderIncomplete = 0",
                    type.name, lattice_size(shape, type.order) - type.nodes));
  const Lattice lattice(shape, type.order);
  std::vector<int> nodes(type.nodes);
  for (int a = 0; a < type.nodes; ++a) {
    std::array<int, 3> index{};
    for (int axis = 0; axis < type.dimension; ++axis) {
      const double x = type.points[a * type.dimension + axis];
      index[axis] = static_cast<int>(std::lround((is_tensor(shape) ? (x + 1) / 2 : x) * type.order));
    }
    const int sum = index[0] + index[1] + index[2];
    if (*std::min_element(index.begin(), index.end()) < 0 || (!is_tensor(shape) && sum > type.order))
      fail("reference nodes lie outside the reference cell");
    nodes[a] = lattice.node(index[0], index[1], index[2]);
  }
  return nodes;
}

/// Node of the lattice of order 2 in the middle of a face or cell, and the nodes that determine its position.
struct MiddleNode {
  int node;
  bool of_cell;
  std::vector<int> corners;
  std::vector<std::pair<int, double>> weights;
};

/// Inner nodes that give the complete cell the map of the serendipity cell (Zienkiewicz & Taylor 2000): on a face -1/4
/// of each vertex plus 1/2 of each edge's midpoint; in a cell -1/4 of each vertex plus 1/4 of each edge's midpoint.
std::vector<MiddleNode> middle_nodes(const Lattice& lattice) {
  const int d = dimension(lattice.shape());
  std::vector<MiddleNode> middles;
  for (int node = 0; node < lattice.size(); ++node) {
    const std::array<int, 3>& at = lattice.index(node);
    const auto free = std::count(at.begin(), at.begin() + d, 1);
    if (free < 2) continue;
    MiddleNode& middle = middles.emplace_back(MiddleNode{node, free == d && d == 3, {}, {}});
    for (int other = 0; other < lattice.size(); ++other) {
      const std::array<int, 3>& index = lattice.index(other);
      bool around = true;
      for (int axis = 0; axis < d; ++axis) around = around && (at[axis] == 1 || index[axis] == at[axis]);
      const auto inside = std::count(index.begin(), index.begin() + d, 1);
      if (!around || inside > 1) continue;
      middle.weights.emplace_back(other, inside == 0 ? -0.25 : free == 2 ? 0.5 : 0.25);
      if (inside == 0) middle.corners.push_back(other);
    }
  }
  return middles;
}

/// Adds the inner nodes of complete cells to quadratic serendipity cells.
void add_middle_nodes(Mesh& mesh) {
  const int d = mesh.dimension(), n = mesh.nodes_per_cell();
  const std::vector<MiddleNode> middles = middle_nodes(Lattice(mesh.shape, mesh.order));
  std::map<std::array<std::int32_t, 4>, std::int32_t> of_faces;
  for (std::size_t first = 0; first < mesh.cell_nodes.size(); first += static_cast<std::size_t>(n)) {
    std::int32_t* nodes = mesh.cell_nodes.data() + first;
    for (const MiddleNode& middle : middles) {
      const std::int32_t next = mesh.node_count();
      nodes[middle.node] = next;
      if (d == 3 && !middle.of_cell) {
        std::array<std::int32_t, 4> key{};
        std::transform(middle.corners.begin(), middle.corners.end(), key.begin(),
                       [&](int corner) { return nodes[corner]; });
        std::sort(key.begin(), key.end());
        nodes[middle.node] = of_faces.try_emplace(key, next).first->second;
      }
      if (nodes[middle.node] != next) continue;
      std::array<double, 3> point{};
      for (const auto& [node, weight] : middle.weights)
        for (int axis = 0; axis < d; ++axis)
          point[axis] += weight * mesh.coordinates[std::int64_t{nodes[node]} * d + axis];
      mesh.coordinates.insert(mesh.coordinates.end(), point.begin(), point.begin() + d);
    }
  }
}

void check_plane(const RawMesh& raw) {
  double low = std::numeric_limits<double>::infinity(), high = -low, extent = 0;
  for (const ElementBlock& block : raw.cells)
    for (const std::uint64_t node : block.nodes) {
      const double* x = raw.point(node);
      low = std::min(low, x[2]);
      high = std::max(high, x[2]);
      extent = std::max({extent, std::abs(x[0]), std::abs(x[1])});
    }
  if (high - low > 1e-9 * std::max(extent, high - low))
    throw std::runtime_error(
        fmt::format("its highest cells are surfaces in space (z from {:.6g} to {:.6g}): two-dimensional meshes must "
                    "lie in a plane z = constant, and solids need volumes",
                    low, high));
}

}  // namespace

RawMesh read_raw_mesh(SharedReader& reader) {
  RawMesh raw;
  raw.warnings.resize(reader.count_of(one_number));
  for (std::string& warning : raw.warnings) warning = reader.text();
  raw.groups.resize(reader.count_of(4 * one_number));
  for (PhysicalGroup& group : raw.groups) {
    group.dimension = small_number(reader, 0, 3);
    group.tag = small_number(reader, -any, any);
    group.name = reader.text();
    const std::span<const int> entities = reader.array<int>();
    if (std::find(entities.begin(), entities.end(), std::numeric_limits<int>::min()) != entities.end())
      fail("a group names no entity");
    group.entities.assign(entities.begin(), entities.end());
  }
  for (std::size_t left = reader.count_of(3 * one_number); left > 0; --left) {
    const int dimension = small_number(reader, 0, 3), tag = small_number(reader, -any, any);
    raw.names[{dimension, tag}] = reader.text();
  }
  for (std::size_t left = reader.count_of(6 * one_number); left > 0; --left) {
    const int type = small_number(reader, 0, any);
    raw.types[type] = read_type(reader);
  }
  raw.points = reader.array<double>();
  if (raw.points.size() % 3 != 0) fail("a node lacks a coordinate");
  raw.dimension = small_number(reader, 2, 3);
  raw.cells = read_blocks(reader, raw, raw.dimension);
  raw.facets = read_blocks(reader, raw, raw.dimension - 1);
  const std::span<const double> measure = reader.array<double>();
  if (measure.size() > 1) fail("the geometry has several volumes");
  if (!measure.empty() && std::isfinite(measure[0])) raw.measure = measure[0];
  return raw;
}

void check_cells(const RawMesh& raw) {
  if (raw.cells.empty()) {
    std::string left_out;
    for (const std::string& warning : raw.warnings)
      if (warning.find(" of type ") != std::string::npos) left_out += "; " + warning;
    throw std::runtime_error("there are no cells in it: no triangles, quadrilaterals, tetrahedra or hexahedra" +
                             left_out);
  }
  if (raw.dimension == 2) check_plane(raw);
}

std::vector<std::int32_t> copy_cells(const RawMesh& raw, Mesh& mesh) {
  const ElementType type = common_type(raw);
  const std::vector<int> lattice = lattice_nodes(type);
  mesh.shape = cell_shape(type);
  mesh.order = type.order;
  std::size_t cells = 0;
  for (const ElementBlock& block : raw.cells) cells += block.size();
  if (std::max(cells, raw.node_count()) > std::size_t{std::numeric_limits<std::int32_t>::max()})
    throw std::runtime_error(
        fmt::format("{} cells and {} nodes are more than a mesh can number (2^31 - 1)", cells, raw.node_count()));

  std::vector<std::int32_t> number(raw.node_count(), no_node);
  for (const ElementBlock& block : raw.cells)
    for (const std::uint64_t node : block.nodes) number[node - 1] = 0;
  std::int32_t count = 0;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] == no_node) continue;
    number[i] = count++;
    mesh.coordinates.insert(mesh.coordinates.end(), raw.point(i + 1), raw.point(i + 1) + type.dimension);
  }
  mesh.cell_nodes.resize(cells * mesh.nodes_per_cell());
  std::int32_t* nodes = mesh.cell_nodes.data();
  for (const ElementBlock& block : raw.cells)
    for (std::size_t e = 0; e < block.size(); ++e, nodes += mesh.nodes_per_cell())
      for (int a = 0; a < type.nodes; ++a) nodes[lattice[a]] = number[block.nodes[e * type.nodes + a] - 1];
  if (is_quadratic_serendipity(type)) add_middle_nodes(mesh);
  return number;
}

}  // namespace femcg::mesh

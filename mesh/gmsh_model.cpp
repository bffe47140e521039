#include "mesh/gmsh_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmsh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "mesh/reference_cell.hpp"

namespace femcg::mesh {

namespace {

std::vector<ElementBlock> read_blocks(int dimension) {
  std::vector<ElementBlock> blocks;
  gmsh::vectorpair entities;
  gmsh::model::getEntities(entities, dimension);
  for (const auto& [d, tag] : entities) {
    std::vector<int> types;
    std::vector<std::vector<std::size_t>> elements, nodes;
    gmsh::model::mesh::getElements(types, elements, nodes, d, tag);
    for (std::size_t i = 0; i < types.size(); ++i)
      if (!elements[i].empty())
        blocks.push_back({tag, types[i], static_cast<int>(nodes[i].size() / elements[i].size()),
                          element_type(types[i]).corners, std::move(nodes[i])});
  }
  return blocks;
}

/// The type of all cells. Throws where there are several, or one that this program has no cell for.
ElementType common_type(const GmshModel& model) {
  std::map<int, std::size_t> counts;
  for (const ElementBlock& block : model.cells) counts[block.type] += block.size();
  if (counts.size() > 1) {
    std::vector<std::string> list;
    for (const auto& [type, count] : counts)
      list.push_back(fmt::format("{} of type {}", count, element_type(type).name));
    throw std::runtime_error(fmt::format(
        "all cells must be of one type, but there are {}: mesh with simplices only, or so that every cell recombines{}",
        fmt::join(list, ", "), model.dimension == 3 ? " to a hexahedron" : " to a quadrilateral"));
  }
  const ElementType type = element_type(counts.begin()->first);
  if (type.corners != 1 << type.dimension && type.corners != type.dimension + 1)
    throw std::runtime_error(fmt::format(
        "the cells are of type {}, but must be triangles, quadrilaterals, tetrahedra or hexahedra", type.name));
  return type;
}

CellShape cell_shape(const ElementType& type) {
  if (type.dimension == 2) return type.corners == 3 ? CellShape::triangle : CellShape::quadrilateral;
  return type.corners == 4 ? CellShape::tetrahedron : CellShape::hexahedron;
}

/// For each node of Gmsh's element the node of our lattice at the same place.
std::vector<int> lattice_nodes(const ElementType& type) {
  const CellShape shape = cell_shape(type);
  if (type.order > max_degree)
    throw std::runtime_error(
        fmt::format("the cells have geometric order {}, but at most {} is supported", type.order, max_degree));
  if (type.nodes != lattice_size(shape, type.order))
    throw std::runtime_error(
        fmt::format("cells of type {} (serendipity) lack the {} inner nodes of complete cells: make the mesh with "
                    "Mesh.SecondOrderIncomplete = 0",
                    type.name, lattice_size(shape, type.order) - type.nodes));
  const Lattice lattice(shape, type.order);
  std::vector<int> nodes(type.nodes);
  for (int a = 0; a < type.nodes; ++a) {
    std::array<int, 3> index{};
    for (int axis = 0; axis < type.dimension; ++axis) {
      const double x = type.points[a * type.dimension + axis];
      index[axis] = static_cast<int>(std::lround((is_tensor(shape) ? (x + 1) / 2 : x) * type.order));
    }
    nodes[a] = lattice.node(index[0], index[1], index[2]);
  }
  return nodes;
}

void check_plane(const GmshModel& model) {
  double low = std::numeric_limits<double>::infinity(), high = -low, extent = 0;
  for (const ElementBlock& block : model.cells)
    for (const std::size_t node : block.nodes) {
      const double* x = model.point(node);
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

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

ElementType element_type(int type) {
  ElementType t;
  gmsh::model::mesh::getElementProperties(type, t.name, t.dimension, t.order, t.nodes, t.points, t.corners);
  return t;
}

GmshModel read_gmsh_model() {
  GmshModel model;
  // Tags in a file may be sparse, and where tag 0 occurs Gmsh gives two nodes the same tag.
  gmsh::model::mesh::renumberNodes();
  std::vector<std::size_t> tags;
  std::vector<double> points, parameters;
  gmsh::model::mesh::getNodes(tags, points, parameters);
  model.points.resize(points.size());
  for (std::size_t i = 0; i < tags.size(); ++i)
    std::copy_n(points.data() + 3 * i, 3, model.points.data() + 3 * (tags[i] - 1));
  for (model.dimension = 3; model.dimension >= 2; --model.dimension) {
    model.cells = read_blocks(model.dimension);
    if (!model.cells.empty()) break;
  }
  if (model.cells.empty())
    throw std::runtime_error("there are no cells in it: no triangles, quadrilaterals, tetrahedra or hexahedra");
  model.facets = read_blocks(model.dimension - 1);
  if (model.dimension == 2) check_plane(model);
  return model;
}

std::vector<std::int32_t> copy_cells(const GmshModel& model, Mesh& mesh) {
  const ElementType type = common_type(model);
  const std::vector<int> lattice = lattice_nodes(type);
  mesh.shape = cell_shape(type);
  mesh.order = type.order;
  std::size_t cells = 0;
  for (const ElementBlock& block : model.cells) cells += block.size();
  if (std::max(cells, model.node_count()) > std::size_t{std::numeric_limits<std::int32_t>::max()})
    throw std::runtime_error(
        fmt::format("{} cells and {} nodes are more than a mesh can number (2^31 - 1)", cells, model.node_count()));

  std::vector<std::int32_t> number(model.node_count(), no_node);
  for (const ElementBlock& block : model.cells)
    for (const std::size_t node : block.nodes) number[node - 1] = 0;
  std::int32_t count = 0;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] == no_node) continue;
    number[i] = count++;
    mesh.coordinates.insert(mesh.coordinates.end(), model.point(i + 1), model.point(i + 1) + type.dimension);
  }
  mesh.cell_nodes.resize(cells * type.nodes);
  std::int32_t* nodes = mesh.cell_nodes.data();
  for (const ElementBlock& block : model.cells)
    for (std::size_t e = 0; e < block.size(); ++e, nodes += type.nodes)
      for (int a = 0; a < type.nodes; ++a) nodes[lattice[a]] = number[block.nodes[e * type.nodes + a] - 1];
  return number;
}

}  // namespace femcg::mesh

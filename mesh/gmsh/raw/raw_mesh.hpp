#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/gmsh/raw/shared_bytes.hpp"
#include "mesh/mesh.hpp"

// Mesh in Gmsh's numbering, as passed from Gmsh's process to this one.

namespace femcg::mesh {

/// Properties of a Gmsh element type.
struct ElementType {
  std::string name;
  int dimension = 0, order = 0, nodes = 0, corners = 0;
  std::vector<double> points;  ///< reference coordinates, nodes x dimension; tensor cells on [-1, 1]^d
};

/// Elements of one type on one entity of Gmsh's model.
struct ElementBlock {
  int entity;
  int type;
  int nodes_per_element;
  int corners;                           ///< the first nodes of each element are its vertices
  std::span<const std::uint64_t> nodes;  ///< numbers from 1, [elements][nodes_per_element]

  std::size_t size() const { return nodes.size() / nodes_per_element; }
};

/// Group of entities of one dimension, by tag.
struct PhysicalGroup {
  int dimension, tag;
  std::string name;  ///< the tag as text, if the file gives no name
  std::vector<int> entities;
};

/// All nodes, and the elements of the highest dimension and of one less.
struct RawMesh {
  int dimension = 0;
  std::span<const double> points;  ///< nodes x 3
  std::vector<ElementBlock> cells, facets;
  std::map<int, ElementType> types;  ///< of the cells and facets
  std::vector<PhysicalGroup> groups;
  std::map<std::pair<int, int>, std::string> names;  ///< names of entities in the file, by dimension and tag
  std::vector<std::string> warnings;
  double measure = 0;                 ///< volume or area of the meshed geometry; 0: unknown
  std::shared_ptr<const void> owner;  ///< owns the memory of points and nodes

  /// Elements of the cells' dimension, or of one less.
  const std::vector<ElementBlock>& elements(int of_dimension) const {
    return of_dimension == dimension ? cells : facets;
  }
  std::size_t node_count() const { return points.size() / 3; }
  const double* point(std::uint64_t node) const { return points.data() + 3 * (node - 1); }
};

/// Reads the output of sdk/model.hpp. Throws std::runtime_error if it is inconsistent; afterwards every node of an
/// element exists, and every type is known.
RawMesh read_raw_mesh(SharedReader& reader);

/// Throws std::runtime_error if there are no cells, or if 2D cells do not lie in a plane z = constant.
void check_cells(const RawMesh& raw);

inline constexpr std::int32_t no_node = -1;

/// Copies the cells and their nodes into the mesh. Returns the mesh's number of each raw node, or no_node. Throws
/// std::runtime_error if the cells are of several types or of one that the program has no cell for.
std::vector<std::int32_t> copy_cells(const RawMesh& raw, Mesh& mesh);

}  // namespace femcg::mesh

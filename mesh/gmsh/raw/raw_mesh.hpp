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

// A mesh as Gmsh has it, on its way from Gmsh's process to ours.

namespace femcg::mesh {

/// Properties of a Gmsh element type.
struct ElementType {
  std::string name;
  int dimension = 0, order = 0, nodes = 0, corners = 0;
  std::vector<double> points;  ///< reference coordinates, nodes x dimension; tensor cells on [-1, 1]^d
};

/// The elements of one type on one entity of Gmsh's model.
struct ElementBlock {
  int entity;
  int type;
  int nodes_per_element;
  int corners;                           ///< the first nodes of each element are its vertices
  std::span<const std::uint64_t> nodes;  ///< numbers from 1, elements x nodes_per_element

  std::size_t size() const { return nodes.size() / nodes_per_element; }
};

/// Some entities of one dimension, by their tags.
struct PhysicalGroup {
  int dimension, tag;
  std::string name;  ///< its tag, where the file gives none
  std::vector<int> entities;
};

/// All nodes, and the elements of the highest dimension and of one less.
struct RawMesh {
  int dimension = 0;
  std::span<const double> points;  ///< nodes x 3
  std::vector<ElementBlock> cells, facets;
  std::map<int, ElementType> types;  ///< of the cells and facets
  std::vector<PhysicalGroup> groups;
  std::map<std::pair<int, int>, std::string> names;  ///< that the file gives to entities: by dimension and tag
  std::vector<std::string> warnings;
  double measure = 0;                 ///< of the geometry that was meshed: volume, or area; 0 where it is not known
  std::shared_ptr<const void> owner;  ///< of the memory of the points and nodes

  /// The elements of the cells' dimension, or of one less.
  const std::vector<ElementBlock>& elements(int of_dimension) const {
    return of_dimension == dimension ? cells : facets;
  }
  std::size_t node_count() const { return points.size() / 3; }
  const double* point(std::uint64_t node) const { return points.data() + 3 * (node - 1); }
};

/// Reads what sdk/model.hpp writes. Throws std::runtime_error where something in it contradicts something else: after
/// that every node of an element is one of the nodes, and every type is known.
RawMesh read_raw_mesh(SharedReader& reader);

/// Throws std::runtime_error where there are no cells, or where cells of dimension 2 do not lie in a plane z =
/// constant.
void check_cells(const RawMesh& raw);

inline constexpr std::int32_t no_node = -1;

/// Copies the cells, and the nodes that they use, into the mesh. Returns the mesh's number of each of the raw nodes, or
/// no_node. Throws std::runtime_error where the cells are of several types or of one that the program has no cell for.
std::vector<std::int32_t> copy_cells(const RawMesh& raw, Mesh& mesh);

}  // namespace femcg::mesh

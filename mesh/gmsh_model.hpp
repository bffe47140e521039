#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// What Gmsh knows of one of its element types.
struct ElementType {
  std::string name;
  int dimension = 0, order = 0, nodes = 0, corners = 0;
  std::vector<double> points;  ///< reference coordinates, nodes x dimension; tensor cells on [-1, 1]^d
};

ElementType element_type(int type);

/// The elements of one type on one entity of Gmsh's model.
struct ElementBlock {
  int entity;
  int type;
  int nodes_per_element;
  int corners;                     ///< the first nodes of each element are its vertices
  std::vector<std::size_t> nodes;  ///< numbers from 1, elements x nodes_per_element

  std::size_t size() const { return nodes.size() / nodes_per_element; }
};

/// Gmsh's current model: all nodes, and the elements of the highest dimension and of one less.
struct GmshModel {
  int dimension = 0;
  std::vector<double> points;  ///< nodes x 3
  std::vector<ElementBlock> cells, facets;

  std::size_t node_count() const { return points.size() / 3; }
  const double* point(std::size_t node) const { return points.data() + 3 * (node - 1); }
};

/// "1 cell", "2 cells".
std::string counted(std::size_t count, const std::string& noun);

inline constexpr std::int32_t no_node = -1;

/// Throws std::runtime_error where there are no cells, or where cells of dimension 2 do not lie in a plane z =
/// constant.
GmshModel read_gmsh_model();

/// Copies the cells, and the nodes that they use, into the mesh. Returns the mesh's number of each of the model's
/// nodes, or no_node. Throws std::runtime_error where the cells are of several types or of one that the program has no
/// cell for.
std::vector<std::int32_t> copy_cells(const GmshModel& model, Mesh& mesh);

}  // namespace femcg::mesh

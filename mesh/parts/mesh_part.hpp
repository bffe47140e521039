#pragma once

// What one of several processes has of a mesh.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// The cells of one process as a mesh of their own. It knows of the others only the vertices that both have, from which
/// follows what else they share; so nothing here grows with the whole mesh.
struct MeshPart {
  /// Another process, and the vertices that both have, in an order that is the same for both.
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> vertices;  ///< nodes of the mesh
  };

  Mesh mesh;                               ///< all regions and groups are there; a part may have no cells
  std::vector<Neighbour> neighbours;       ///< by ascending rank
  std::vector<std::int32_t> cell_numbers;  ///< in the whole mesh
};

/// A whole mesh whose cell c is of process process_of[c]; both must outlive it.
class DividedMesh {
 public:
  DividedMesh(const Mesh& whole, std::span<const std::int32_t> process_of);
  /// The part of one process; its cells are in the order of the whole mesh.
  MeshPart part(int rank) const;

 private:
  const Mesh* whole_;
  std::span<const std::int32_t> process_of_;
  std::vector<std::pair<std::int32_t, std::int32_t>> holders_;  ///< shared vertices, each with a process, sorted
};

/// A part whose cells are refined once. `lattice` is lattice_for_refinement of its mesh, `shared` its nodes that
/// neighbours have as well, in an order that is the same for both.
MeshPart refined(const MeshPart& part, const FunctionSpace& lattice, std::span<const MeshPart::Neighbour> shared);

/// A part as bytes, and back.
std::string to_bytes(const MeshPart& part);
MeshPart part_from_bytes(const std::string& bytes);

}  // namespace femcg::mesh

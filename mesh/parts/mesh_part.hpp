#pragma once

// The subdomain of one process.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Cells of one process as a mesh of their own. It knows other processes only by shared vertices, from which all other
/// shared entities follow, so that its size does not grow with the whole mesh.
struct MeshPart {
  /// Another process and the vertices shared with it, in an order that is the same on both.
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> vertices;  ///< nodes of the mesh
  };

  Mesh mesh;                               ///< has all regions and groups of the whole mesh; may have no cells
  std::vector<Neighbour> neighbours;       ///< by ascending rank
  std::vector<std::int32_t> cell_numbers;  ///< numbers of the cells in the whole mesh
};

/// Whole mesh divided so that cell c belongs to process process_of[c]; both must outlive this object.
class DividedMesh {
 public:
  DividedMesh(const Mesh& whole, std::span<const std::int32_t> process_of);
  /// Subdomain of one process; its cells are in the order of the whole mesh.
  MeshPart part(int rank) const;

 private:
  const Mesh* whole_;
  std::span<const std::int32_t> process_of_;
  std::vector<std::pair<std::int32_t, std::int32_t>> holders_;  ///< (shared vertex, process), sorted
};

/// The part with its cells refined once. `lattice`: lattice_for_refinement of its mesh; `shared`: nodes of the lattice
/// shared with neighbours, in an order that is the same on both.
MeshPart refined(const MeshPart& part, const FunctionSpace& lattice, std::span<const MeshPart::Neighbour> shared);

/// Serialise and deserialise a part.
std::string to_bytes(const MeshPart& part);
MeshPart part_from_bytes(const std::string& bytes);

}  // namespace femcg::mesh

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/meshing_plan.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"
#include "mesh/gmsh/raw/shared_bytes.hpp"

namespace femcg::mesh {

ElementType element_type(int type);

/// Joins the partitions of a mesh. Throws std::runtime_error where there are fewer than the file declares.
void join_partitions(std::size_t declared, std::vector<std::string>& warnings);

/// Writes the nodes, with their coordinates times the factor of the plan, and the elements of the highest dimension and
/// of one less, of Gmsh's current model, for read_raw_mesh; and how large the geometry is, unless a mesh file was read.
/// A plan that ends with facets writes no cells.
void write_raw_mesh(const std::vector<std::string>& warnings, const MeshingPlan& plan, bool is_mesh_file,
                    SharedWriter& writer);

}  // namespace femcg::mesh

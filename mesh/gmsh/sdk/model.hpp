#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/meshing_plan.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"
#include "mesh/gmsh/raw/shared_bytes.hpp"

namespace femcg::mesh {

ElementType element_type(int type);

/// Joins the partitions of a mesh. Throws std::runtime_error if there are fewer than the file declares.
void join_partitions(std::size_t declared, std::vector<std::string>& warnings);

/// Writes Gmsh's current model for read_raw_mesh: nodes, with coordinates times the factor of the plan; elements of the
/// highest dimension and of one less; and the size of the geometry, unless a mesh file was read. No cells if the plan
/// ends with facets.
void write_raw_mesh(const std::vector<std::string>& warnings, const MeshingPlan& plan, bool is_mesh_file,
                    SharedWriter& writer);

}  // namespace femcg::mesh

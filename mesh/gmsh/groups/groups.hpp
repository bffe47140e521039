#pragma once

#include <cstdint>
#include <span>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Assigns every cell its region: by the rule that matches its entity, else by its physical group, else "unnamed"; all
/// "domain" without rules and groups. Throws std::runtime_error if a rule matches nothing or two rules match one
/// entity.
void assign_regions(const RawMesh& raw, const GmshOptions& options, Mesh& mesh);

/// Finds the facets of cells that form the boundary groups; `node_numbers`: the result of copy_cells. Facets between
/// two cells are skipped with a warning. Throws std::runtime_error if an element of a group is no facet of a cell.
void assign_boundaries(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                       Mesh& mesh);

}  // namespace femcg::mesh

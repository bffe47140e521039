#pragma once

#include <cstdint>
#include <span>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/raw_mesh.hpp"

namespace femcg::mesh {

/// Gives every cell its region: that of the rule which matches its entity, else of its physical group, else "unnamed";
/// all "domain" where there are neither. Throws std::runtime_error where a rule matches nothing or two rules match one
/// entity.
void assign_regions(const RawMesh& raw, const GmshOptions& options, Mesh& mesh);

/// Finds the facets of the boundary groups among those of the cells; `node_numbers` is what copy_cells returned. Facets
/// between two cells are left out, with a warning. Throws std::runtime_error where an element of a group is no facet of
/// a cell.
void assign_boundaries(const RawMesh& raw, const GmshOptions& options, std::span<const std::int32_t> node_numbers,
                       Mesh& mesh);

}  // namespace femcg::mesh

#pragma once

#include <cstdint>
#include <span>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Finds places where cells touch or overlap without being joined, to 1e-4 of the shortest edge of a cell; `components`
/// is cell_components(mesh). Adds warnings with the number of vertices that coincide with another one, as at a crack,
/// and of vertices of one component inside facets of another. Throws std::runtime_error with the first place if a
/// vertex lies inside a facet of another cell of its component (a hanging node) or if components overlap.
void check_fit(Mesh& mesh, std::span<const std::int32_t> components);

}  // namespace femcg::mesh

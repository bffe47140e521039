#pragma once

#include <cstdint>
#include <span>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Finds where cells touch or overlap without being joined, to 1e-4 of the shortest edge of a cell; `components` are
/// those of the cells (cell_components). Counted in `warnings`: vertices that lie where another one does, as at a crack,
/// and those of one component inside facets of another. Throws std::runtime_error, with the first place, where a vertex
/// lies inside a facet of another cell of its component (a hanging node), and where components overlap.
void check_fit(Mesh& mesh, std::span<const std::int32_t> components);

}  // namespace femcg::mesh

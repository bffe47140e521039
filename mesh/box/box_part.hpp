#pragma once

#include <cstdint>
#include <vector>

#include "mesh/box/box.hpp"
#include "mesh/parts/mesh_part.hpp"

namespace femcg::mesh {

/// Builds one process's part of a box without the whole mesh: the cells that make_box and then `refinements` calls of
/// refine would make in one block of the box. Blocks come from bisecting the longest side recursively; of hexahedra and
/// quadrilaterals, so that pairs of cells can be merged several times in each block (coarser boxes of multigrid).
/// Throws as make_box and refine do for the whole box.
MeshPart part_of_box(const BoxOptions& options, int refinements, int rank, int processes);

/// Process of each cell of the whole box.
std::vector<std::int32_t> partition_in_blocks(const BoxOptions& options, int refinements, int processes);

}  // namespace femcg::mesh

#pragma once

#include <cstdint>
#include <vector>

#include "mesh/box/box.hpp"
#include "mesh/parts/mesh_part.hpp"

namespace femcg::mesh {

/// The part of one of so many processes of a box, made in its place: the cells that make_box and so many times refine
/// would make, in a block of the box. Blocks come from halving the longest side until there are enough of them. Throws
/// as these do for the whole box.
MeshPart part_of_box(const BoxOptions& options, int refinements, int rank, int processes);

/// The process of each of its cells.
std::vector<std::int32_t> partition_in_blocks(const BoxOptions& options, int refinements, int processes);

}  // namespace femcg::mesh

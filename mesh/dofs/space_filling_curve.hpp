#pragma once

#include <cstdint>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Cells in their order along the Hilbert curve through their centres (the means of their vertices): entry i is the
/// i-th cell. Cells at the same position on the curve (resolution: 2^-20 of the mesh's extent) keep their order.
std::vector<std::int32_t> cells_along_curve(const Mesh& mesh);

}  // namespace femcg::mesh

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// All cells that share a vertex with one of `cells`, these included, ascending.
std::vector<std::int32_t> cells_around(const Mesh& mesh, std::span<const std::int32_t> cells);

}  // namespace femcg::mesh

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mesh/gmsh/gmsh_reader.hpp"

namespace femcg::mesh {

/// Reads a geometry into the current Gmsh session and meshes it as the options say: size, shape, refinements, order.
/// Its coordinates there are to be multiplied by `factor`, as the size is already.
void mesh_geometry(const GmshOptions& options, double factor, std::vector<std::string>& remarks);

/// Throws std::runtime_error if refining that often makes more cells than a mesh can number.
void check_refinement(std::int64_t cells, int dimension, int refinements);

}  // namespace femcg::mesh

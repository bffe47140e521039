#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/meshing_plan.hpp"

namespace femcg::mesh {

/// Volume or area of what is meshed; nothing where OpenCASCADE does not know it, as of Gmsh's own geometry.
std::optional<double> measure_of_model(int dimension, double factor);

/// Tells Gmsh how large the cells of its current geometry are to be: as options.size says, if it does, and at the
/// points of groups as options.sizes and the plan say; it interpolates between points. Throws std::runtime_error where
/// a size is none or far too small, and where a group is neither one of the file nor a rule.
void choose_sizes(const GmshOptions& options, const MeshingPlan& plan, std::vector<std::string>& warnings);

}  // namespace femcg::mesh

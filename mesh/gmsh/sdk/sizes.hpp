#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/gmsh/raw/gmsh_options.hpp"
#include "mesh/gmsh/raw/meshing_plan.hpp"

namespace femcg::mesh {

/// Volume or area of the geometry; empty if OpenCASCADE does not know it, as for Gmsh's built-in geometry.
std::optional<double> measure_of_model(int dimension, double factor);

/// Sets the cell sizes of Gmsh's current geometry: options.size, if given, and at the points of groups options.sizes
/// and the plan; Gmsh interpolates between points. Throws std::runtime_error if a size is not positive or far too
/// small, or if a group is neither one of the file nor a rule.
void choose_sizes(const GmshOptions& options, const MeshingPlan& plan, std::vector<std::string>& warnings);

}  // namespace femcg::mesh

#pragma once

#include <string>
#include <vector>

namespace femcg::mesh {

/// Solids of the current model of OpenCASCADE, where it has surfaces in space alone, as IGES files of many programs do:
/// sews surfaces that meet within 1e-4 of the model's size and makes solids of what closes, which a warning says.
/// Throws std::runtime_error where they leave edges with a surface on one side only, or where a solid lies within
/// another. Leaves surfaces alone that lie in a plane.
void sew_surfaces(std::vector<std::string>& warnings);

}  // namespace femcg::mesh

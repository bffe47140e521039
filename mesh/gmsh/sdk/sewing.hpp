#pragma once

#include <string>
#include <vector>

namespace femcg::mesh {

/// Makes solids from the surfaces of OpenCASCADE's current model, if it has only surfaces in space, as IGES files of
/// many programs do: sews surfaces that meet within 1e-4 of the model's size and makes solids of closed ones, with a
/// warning. Throws std::runtime_error if edges with a surface on one side only remain, or if a solid lies within
/// another. Plane surfaces are unchanged.
void sew_surfaces(std::vector<std::string>& warnings);

}  // namespace femcg::mesh

#pragma once

#include <filesystem>

#include "solver/case/case_reader.hpp"

namespace femcg::solver {

/// Reads the section `mesh` of a case, whose paths are relative to `folder`. `degree` is the case's: a box may be given
/// by its number of dofs.
MeshChoice read_mesh_choice(const MapReader& top, const std::filesystem::path& folder, int degree);

}  // namespace femcg::solver

#pragma once

#include <filesystem>

#include "solver/case_reader.hpp"

namespace femcg::solver {

/// The section `mesh` of a case, whose paths are relative to `folder`.
MeshChoice read_mesh_choice(const MapReader& top, const std::filesystem::path& folder);

}  // namespace femcg::solver

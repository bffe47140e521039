#pragma once

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg mesh`: reads or makes the mesh of a case; prints its regions, faces and quality, and a draft of mesh.groups;
/// writes cells.vtu and faces.vtu into the results folder. Throws InputError.
ExitStatus inspect_mesh(const Case& resolved, const Console& console);

}  // namespace femcg::solver

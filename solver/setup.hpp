#pragma once

#include "mesh/function_space.hpp"
#include "solver/case.hpp"
#include "solver/progress.hpp"

namespace femcg::solver {

/// The mesh of a case: generated or read, refined, checked, its cells in the order that the case asks for. Throws
/// InputError.
mesh::Mesh make_mesh(const Case& resolved);

/// The device that a case runs on. Throws MachineError where cuda is asked for and there is none, InputError where the
/// operator has no version for it.
operators::Device choose_device(const Case& resolved, const OperatorChoice& choice);

}  // namespace femcg::solver

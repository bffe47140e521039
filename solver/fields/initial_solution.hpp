#pragma once

#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The unknowns that CG begins from, for each load in turn; none where it begins from 0.
using InitialUnknowns = std::vector<std::vector<double>>;

/// Those of the solution that an earlier run on the same mesh, at any degree, left in the folder solver.initial. Throws
/// InputError where there is none, or it is not of this mesh.
InitialUnknowns initial_unknowns(const Case& resolved, const Problem& problem);

/// The sentence on it.
std::string begun_from(const Case& resolved);

}  // namespace femcg::solver

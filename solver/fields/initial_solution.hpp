#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The unknowns that CG begins from, for each load in turn; none where it begins from 0.
using InitialUnknowns = std::vector<std::vector<double>>;

/// Unknowns of the solution that an earlier run on the same mesh, at any degree, left in the folder solver.initial.
/// For full multigrid, prescribed values that vary along the boundary, continued into the cells there.
/// Throws InputError where there is none, or it is not of this mesh. Where the problem's mesh is a part, `cells` are
/// its cells' numbers in the whole mesh, and the call is collective.
InitialUnknowns initial_unknowns(const SolverChoice& solver, const SolutionLabel& label, const Problem& problem,
                                 std::span<const std::int32_t> cells = {});

/// The sentence on it.
std::string begun_from(const SolverChoice& solver);

}  // namespace femcg::solver

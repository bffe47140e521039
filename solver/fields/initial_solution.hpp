#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Initial unknowns of CG, one vector per load; empty: 0.
using InitialUnknowns = std::vector<std::vector<double>>;

/// Unknowns of the solution of an earlier run on the same mesh, of any degree, from the folder solver.initial. For full
/// multigrid: prescribed values that vary along the boundary, extended into the adjacent cells. Throws InputError if
/// the folder has no solution, or one of another mesh. If the problem's mesh is a subdomain, `cells` holds its cells'
/// global numbers, and the call is collective.
InitialUnknowns initial_unknowns(const SolverChoice& solver, const SolutionLabel& label, const Problem& problem,
                                 std::span<const std::int32_t> cells = {});

/// Note on the initial guess.
std::string begun_from(const SolverChoice& solver);

}  // namespace femcg::solver

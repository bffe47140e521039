#pragma once

#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The numbers by which a person knows a problem, of all processes. Collective.
ProblemSize size_of(const Problem& problem);

}  // namespace femcg::solver

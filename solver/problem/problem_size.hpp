#pragma once

#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Size of a problem over all processes. Collective.
ProblemSize size_of(const Problem& problem);

}  // namespace femcg::solver

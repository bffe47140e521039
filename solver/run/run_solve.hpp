#pragma once

#include <future>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/fields/initial_solution.hpp"
#include "solver/measures/boundary_flux.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/records/record.hpp"
#include "solver/run/discretisation.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

/// Coefficients of all dofs of this process for each load, one after the other; of loads that were begun before the
/// user wanted an end.
struct Solved {
  std::vector<std::vector<double>> solutions;
  std::vector<double> heat_lost;                  ///< by which the tolerance lets the balance of each be open
  std::future<std::vector<BoundaryFlux>> fluxes;  ///< of each load; waited for before the solutions go
};

/// Input of solve().
struct SolveInput {
  const SolverChoice& solver;
  const MeshChoice& mesh;  ///< and how it is divided
  const DistributionChoice& distribution;
  const InitialUnknowns& initial;
};

/// Makes operator and preconditioner, or takes those of an earlier run (CachedParts::made); solves all loads by CG;
/// times the product. The record gets everything that is known then. In the precision of the case. Collective.
Solved solve(SolveInput input, CachedParts& kept, const RunContext& context, Record& record);

}  // namespace femcg::solver

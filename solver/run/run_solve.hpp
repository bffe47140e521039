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

/// Coefficients of all dofs of this process for each load, one after the other; only of loads started before the user
/// stopped the run.
struct Solved {
  std::vector<std::vector<double>> solutions;
  std::vector<double> heat_lost;                  ///< violation of each load's heat balance that the tolerance permits
  std::future<std::vector<BoundaryFlux>> fluxes;  ///< of each load; must be waited for before the solutions are freed
};

/// Input of solve().
struct SolveInput {
  const SolverChoice& solver;
  const MeshChoice& mesh;  ///< and its partition
  const DistributionChoice& distribution;
  const InitialUnknowns& initial;
};

/// Makes operator and preconditioner, or reuses those of an earlier run (CachedParts::made); solves all loads by CG in
/// the precision of the case; times the product. Completes the record. Collective.
Solved solve(SolveInput input, CachedParts& kept, const RunContext& context, Record& record);

}  // namespace femcg::solver

#include "solver/run/run_quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "solver/measures/errors.hpp"
#include "solver/measures/terminals.hpp"
#include "solver/messages/sentence.hpp"

namespace femcg::solver {

void measure_solutions(const Problem& problem, const Probes& probes, Solved& of, Record& record) {
  if (of.solutions.empty()) return;  // interrupted before the first
  std::optional<operators::FunctionOnGpu> on_gpu = function_on_gpu(problem, record.device);
  const operators::FunctionOnGpu* const there = on_gpu ? &*on_gpu : nullptr;
  const std::vector<BoundaryFlux> fluxes = of.fluxes.get();
  const bool has_all = of.solutions.size() == problem.loads().size();
  if (!problem.data().terminals.empty() && has_all) record.terminals = matrix_of_terminals(problem, fluxes);
  for (std::size_t i = 0; i < of.solutions.size(); ++i) {
    if (on_gpu) on_gpu->set(of.solutions[i]);
    const Quantities quantities = measure(problem, problem.loads()[i], probes, of.solutions[i], fluxes[i], there);
    (record.loads.empty() ? record.quantities : record.loads[i].quantities) = quantities;
    if (i == 0 && problem.data().exact)
      record.errors = measure_errors(*problem.data().exact, problem, of.solutions.front(), there);
  }
}

void check_balances(const std::vector<double>& heat_lost, double tolerance, Record& record) {
  const double notable = std::max(1e-4, 10 * tolerance);
  for (std::size_t i = 0; i < heat_lost.size(); ++i) {
    CgResult& solve = record.loads.empty() ? record.solve : record.loads[i].solve;
    const Balance& balance = (record.loads.empty() ? record.quantities : record.loads[i].quantities)->balance;
    const double allowed = 2 * heat_lost[i] / balance.moves() + 1e-12, open = std::abs(balance.relative_error());
    if (solve.reason != StopReason::converged || balance.moves() == 0 || open <= std::min(allowed, notable)) continue;
    const std::string of_load = record.loads.empty() ? "" : fmt::format("load {}: ", in_quotes(record.loads[i].name));
    if (open <= allowed) {
      record.warnings.push_back(fmt::format(
          "{}{:.1e} of the heat that comes and goes is not balanced, for which the tolerance and rounding of "
          "large coefficients or values account: fluxes are that inexact, though u is as exact as the tolerance says",
          of_load, open));
      continue;
    }
    solve.reason = StopReason::stagnated;
    record.warnings.push_back(
        fmt::format("{}NOT converged: {:.1e} of the heat that comes and goes is not balanced, and the tolerance of CG "
                    "accounts for {:.1e}; check the solution, or take another preconditioner or double precision",
                    of_load, open, allowed));
    record.solve.reason = StopReason::stagnated;
  }
}

}  // namespace femcg::solver

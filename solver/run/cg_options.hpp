#pragma once

#include <concepts>
#include <type_traits>

#include "operators/distributed/distributed_operator.hpp"
#include "solver/case/case.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/several_systems.hpp"
#include "solver/messages/console.hpp"

namespace femcg::solver {

/// The operator as a distributed one; null on one process.
template <std::floating_point T>
const operators::DistributedOperator<T>* distributed(const operators::Operator<T>& a) {
  return dynamic_cast<const operators::DistributedOperator<T>*>(&a);
}

/// True if the user asked to stop; the same on all processes, as of the last global sum.
template <std::floating_point T>
bool is_asked_to_stop(const operators::Operator<T>& a, const StopRequested& stop) {
  const auto* of_several = distributed(a);
  return of_several != nullptr ? of_several->vector_kernels().asked_to_stop() : stop();
}

/// CG options of a case and an operator, for one load (CgOptions) or all at once (SystemsCgOptions); the caller adds
/// the initial guess, the checks of solutions and the monitor.
template <class Options, std::floating_point T>
Options cg_options_as(const SolverChoice& solver, const operators::Operator<T>& a,
                      const Preconditioner<T>& preconditioner) {
  Options options;
  options.tolerance = solver.tolerance;
  options.max_iterations = solver.max_iterations;
  options.preconditioner = &preconditioner;
  options.approximates = solver.full_multigrid;
  const auto* of_several = distributed(a);
  if (preconditioner.waits() || (of_several != nullptr && !of_several->gpus_run_alone())) {
    options.captured = false;  // the host sends and reduces within an iteration
    options.check_every = 1;
  }
  if constexpr (std::is_same_v<Options, CgOptions<T>>) {
    options.method = solver.method;
    options.loop = solver.loop;
    if (solver.precision == Precision::mixed) options.reliable_update = update_factor;
    if (options.method == CgMethod::pipelined) options.check_every = 0;
  }
  return options;
}

}  // namespace femcg::solver

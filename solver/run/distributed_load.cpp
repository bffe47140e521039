#include "solver/run/distributed_load.hpp"

#include <fmt/format.h>

#include "solver/problem/number_range.hpp"
#include "solver/problem/scaled_load.hpp"

namespace femcg::solver {

template <std::floating_point T>
DistributedLoad<T>::DistributedLoad(const SharedRun& of, const Load& load, const operators::DistributedOperator<T>& a,
                                    const Preconditioner<T>& preconditioner, Progress& progress)
    : of_(of),
      load_(load),
      mapped_(of, load),
      b_(operators::copied(rounded<T>(mapped_.values()), a.device())),
      product_(of.communicator, of.problem.form(), of.share.map, gpu_of_residuals<T>(of, a.device())) {
  const SolverChoice& solver = of.resolved.solver;
  options_.tolerance = solver.tolerance;
  options_.max_iterations = solver.max_iterations;
  options_.method = solver.method;
  options_.loop = solver.loop;
  options_.preconditioner = &preconditioner;
  if (solver.precision == Precision::mixed) options_.reliable_update = update_factor;
  if (!a.gpus_run_alone()) {  // the host sends and adds up within an iteration
    options_.recorded = false;
    if (options_.method != CgMethod::pipelined) options_.check_every = 1;
  }
  options_.true_residual = [this, &progress](const std::vector<double>& x) {
    const StepTimes::Within step(progress.times(), residual_step, name(product_.device()));
    return product_.residual(x, mapped_.values());
  };
  options_.monitor = [this, &a, &progress](const Iteration& iteration) {
    if (progress.due())
      progress.update(fmt::format("CG iteration {}, relative residual {:.2e} (to {:.0e})", iteration.number,
                                  iteration.relative_residual, options_.tolerance));
    return !a.vector_operations().asked_to_stop();
  };
}

template class DistributedLoad<double>;
template class DistributedLoad<float>;

}  // namespace femcg::solver

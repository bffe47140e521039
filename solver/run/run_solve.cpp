#include "solver/run/run_solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "mesh/base/pages.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/block_cg.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/krylov/iterations_left.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/number_range.hpp"
#include "solver/run/cg_options.hpp"
#include "solver/run/distributed_record.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/run_tuning.hpp"

namespace femcg::solver {

namespace {

/// Progress text of CG; a nonempty `which` ends with a comma and a space.
template <class Iteration>
std::string reached(const std::string& which, const Iteration& iteration, double tolerance) {
  const double error = iteration.awaited.energy_error;
  return fmt::format("{}CG iteration {}, relative residual {:.2e}{} (to {:.0e}), {:.0f} iterations/s", which,
                     iteration.number, iteration.relative_residual,
                     error > 0 ? fmt::format(", error {:.2e}", error) : "", tolerance,
                     static_cast<double>(iteration.number) / std::max(iteration.seconds, 1e-9));
}

/// Fraction done, and seconds left at the present speed.
Share progress_of(const IterationsLeft& iterations, std::int64_t number, double seconds) {
  return {iterations.done(), seconds / std::max<double>(1, static_cast<double>(number)) * iterations.left()};
}

/// Runs CG; its loop time, less that of the run it resumes, is booked as "iterating", set-up and tear-down as steps of
/// their own.
template <class Work>
auto iterating(Progress& progress, Record& record, double seconds_before, const Work& work) {
  const std::string device = name(record.device);
  progress.step("preparing CG, copying its vectors", device);
  auto found = timed(record.seconds.solve, work);
  double seconds = -seconds_before;
  if constexpr (std::is_same_v<decltype(found), CgResult>)
    seconds += found.seconds;
  else
    for (const CgResult& result : found) seconds += result.seconds;
  progress.times().divert("iterating", device, seconds);
  return found;
}

/// An operator that several runs may use, with the entries on it from the record of the run that made it.
template <std::floating_point T>
struct CachedOperator {
  std::shared_ptr<const DiscreteProblem> discrete;  ///< whose form it is made of
  RunOperator<T> made;
  std::unique_ptr<Preconditioner<T>> preconditioner;
  Record record;
};

/// Copies a record's entries on an operator made by an earlier run.
void take_over(const Record& of, Record& record) {
  record.op = of.op;
  record.why = of.why;
  record.footprint = of.footprint;
  record.chosen = of.chosen;
  record.tuning = of.tuning;
  record.memory = of.memory;
  record.preconditioner_chosen = of.preconditioner_chosen;
  record.hierarchy = of.hierarchy;
  record.machine.copy_bandwidth = of.machine.copy_bandwidth;
}

/// Sentence on CG's gain from the start by full multigrid.
std::string saved_by_start(const CgResult& cg, const std::string& load) {
  const Iteration& start = cg.history.front();
  std::string text = fmt::format("CG began{} from full multigrid's approximation, relative residual {:.1e}",
                                 load.empty() ? "" : " load " + in_quotes(load), start.relative_residual);
  if (!std::isfinite(cg.approximated) || cg.iterations == 0) return text;
  const double iterations = static_cast<double>(cg.iterations),
               rate = std::pow(cg.relative_residual / start.relative_residual, 1 / iterations),
               saved = std::log(cg.approximated) / std::log(rate),
               taken = start.seconds / std::max(cg.seconds - start.seconds, 1e-9) * iterations;
  return text +
         fmt::format(", {:.1e} of the error in energy is left: about {:.1f} iterations saved, in the time of {:.1f}",
                     cg.approximated, saved, taken);
}

/// Unknowns of each load that was started, and the results of CG.
struct LoadSolutions {
  std::vector<std::vector<double>> unknowns;
  std::vector<CgResult> results;
};

/// Solution of a case in one precision.
template <std::floating_point T>
class Solve {
 public:
  Solve(SolveInput input, CachedParts& kept, const RunContext& context, Record& record)
      : input_(std::move(input)),
        solver_(input_.solver),
        kept_(kept),
        discrete_(*kept.discrete),
        problem_(discrete_.problem),
        context_(context),
        progress_(context.progress),
        record_(record),
        system_(make_linear_system<T>(problem_, discrete_.share_or_null(), input_.initial, record.device,
                                      input_.distribution.processes_per_gpu == 1, context)) {}

  /// Solves with Jacobi where auto's choice leaves no memory for CG.
  Solved run() {
    try {
      return run_as_chosen();
    } catch (const operators::OutOfMemory&) {
      if (!context_.alone() || !may_take_jacobi()) throw;
    }
    take_jacobi();
    kept_.made.reset();
    return run_as_chosen();
  }

 private:
  Solved run_as_chosen() {
    std::optional<Begun<T>> begun;
    operators::ExchangeRecord of_earlier;  // from earlier runs with this operator
    auto parts = std::static_pointer_cast<const CachedOperator<T>>(kept_.made);
    if (parts) {
      take_over(parts->record, record_);
      if (const auto* of_several = distributed(*parts->made.a)) of_earlier = of_several->record();
      set_diagonal(*parts->made.a);
    } else {
      const auto fresh = std::make_shared<CachedOperator<T>>();
      make(*fresh, begun);
      if (kept_.operators) {
        fresh->discrete = kept_.discrete;
        fresh->record = record_;
        kept_.made = fresh;
      }
      parts = fresh;
    }
    const operators::Operator<T>& a = *parts->made.a;
    Solved solved;
    solved.solutions = solve_loads(a, *parts->preconditioner, std::move(begun), solved.heat_lost);
    solved.fluxes = fluxes_of(solved.solutions);
    progress_.step("timing the product", name(record_.device));
    constexpr double share_of_loop = 0.01;
    if (!is_interrupted())
      record_.apply = context_.alone() ? time_products(a, share_of_loop * record_.solve.seconds)
                                       : time_products(a, context_.processes);
    if (record_.device == operators::Device::cuda) note_gpu(record_.machine);
    if (const auto* of_several = distributed(a))
      complete_record(division_of(*discrete_.share, input_.mesh, input_.distribution, context_.processes), *of_several,
                      1, record_, of_earlier);
    progress_.step("giving back memory");  // destructors at the end of this function
    return solved;
  }

  bool may_take_jacobi() const {
    return !record_.why_preconditioner.empty() && solver_.preconditioner.name != "jacobi";
  }
  void take_jacobi() {
    solver_.preconditioner.name = record_.preconditioner.name = "jacobi";
    record_.why_preconditioner = "jacobi, since memory is too small for the levels of multigrid";
    record_.loads.clear();
  }

  /// Makes operator and preconditioner; Jacobi if auto's choice does not fit in memory. `begun`: state of CG on the
  /// first load after timing trials.
  void make(CachedOperator<T>& to, std::optional<Begun<T>>& begun) {
    try {
      make_as_chosen(to, begun);
    } catch (const operators::OutOfMemory&) {
      if (!may_take_jacobi()) throw;
      take_jacobi();
      begun.reset();
      to.made = {};
      make_as_chosen(to, begun);
    }
  }
  void make_as_chosen(CachedOperator<T>& to, std::optional<Begun<T>>& begun) {
    const DistributionChoice& distribution = input_.distribution;
    const bool seeks_mode =
        record_.device == operators::Device::host && distribution.mode == operators::ExchangeMode::automatic;
    const bool cores_to_spare = !context_.alone() && check_threads(context_.processes, seeks_mode, record_);
    std::shared_ptr<const operators::CsrMatrix<T>> matrix;
    {
      OperatorMaker<T> maker(problem_, discrete_.share_or_null(), solver_, distribution, cores_to_spare, context_,
                             record_);
      to.made = make_operator(solver_, problem_, maker, context_, record_);
      set_diagonal(*to.made.a);
      begun = begin_with_trials(solver_, problem_, preconditioner_input(nullptr), *system_, maker, to.made, context_,
                                record_);
      matrix = maker.matrix_to_read();
    }
    const operators::Operator<T>& a = *to.made.a;
    progress_.step("making the preconditioner", name(record_.device));
    record_.footprint = a.footprint();
    record_.chosen = a.chosen();
    if (begun && begun->preconditioner) {
      to.preconditioner = std::move(begun->preconditioner);
    } else {
      const operators::Vector<T> diagonal = diagonal_of(a);
      const PreconditionerChoice& choice = solver_.preconditioner;
      PreconditionerInput<T> input = preconditioner_input(&diagonal);
      input.systems = systems_at_once();
      if constexpr (std::is_same_v<T, double>) input.matrix = matrix.get();
      to.preconditioner = timed(record_.seconds.preconditioner, [&] {
        return placed(choice.place, [&] { return make_preconditioner(choice.name, a, choice.options, input); });
      });
    }
    record_.preconditioner_chosen = to.preconditioner->chosen();
    record_.hierarchy = to.preconditioner->levels();
  }

  PreconditionerInput<T> preconditioner_input(const operators::Vector<T>* diagonal) const {
    return {diagonal, &problem_.form(), {&context_.processes, kept_.part.get(), discrete_.share_or_null()}};
  }
  std::int64_t systems_at_once() const {
    return solver_.precision == Precision::mixed
               ? 1
               : user_of(solver_, problem_, record_.device, record_.op).systems_at_once(record_.problem.unknowns);
  }

  operators::Vector<T> diagonal_of(const operators::Operator<T>& a) const {
    return placed(solver_.precision_place, [&] { return diagonal_in_range(a); });
  }
  void set_diagonal(const operators::Operator<T>& a) { system_->set_diagonal(a, diagonal_of(a)); }

  /// Coefficients of all dofs for each load, one after the other; only of loads started before the user stopped the
  /// run.
  std::vector<std::vector<double>> solve_loads(const operators::Operator<T>& a, const Preconditioner<T>& preconditioner,
                                               std::optional<Begun<T>> begun, std::vector<double>& heat_lost) {
    const ProcessorTime before = processor_time();
    const CgMethod method =
        solver_.precision == Precision::mixed ? CgMethod::automatic : batched_method(a, preconditioner);
    std::future<std::vector<double>> room;  // memory of the first solution, cleared by a thread while a GPU iterates
    if (record_.device == operators::Device::cuda) {
      room = std::async(std::launch::async, [&] {
        return mesh::filled<double>(static_cast<std::size_t>(problem_.form().space->dof_count()));
      });
    }
    progress_.step("scaling the load");
    LoadSolutions found = method != CgMethod::automatic ? solve_batched(method, a, preconditioner)
                                                        : solve_one_by_one(a, preconditioner, std::move(begun));
    progress_.step("ending CG");
    std::vector<std::vector<double>> solutions;
    for (std::size_t i = 0; i < problem_.loads().size(); ++i) {
      const std::string& load = problem_.loads()[i].name();
      const bool started = i < found.results.size();
      CgResult result;
      result.reason = StopReason::interrupted;
      if (started) {
        result = std::move(found.results[i]);
        if (solver_.full_multigrid && !record_.hierarchy.empty() && !result.history.empty())
          record_.warnings.push_back(saved_by_start(result, load));
        heat_lost.push_back(system_->heat_lost(i, found.unknowns[i], solver_.tolerance));
        solutions.push_back(
            system_->dofs(i, std::move(found.unknowns[i]), room.valid() ? room.get() : std::vector<double>()));
      }
      if (load.empty())
        record_.solve = std::move(result);
      else
        record_.loads.push_back({load, std::move(result), started, {}});
    }
    if (!record_.loads.empty()) record_.solve = all_of(record_.loads);
    const bool refused =
        record_.device == operators::Device::host && was_refused(processor_time() - before, record_.machine.threads);
    if (context_.processes.sum(refused ? 1.0 : 0.0) > 0) record_.warnings.emplace_back(refused_time);
    return solutions;
  }

  /// Method of CG that solves all loads at once; automatic if they are solved one after the other, as by a persistent
  /// kernel for small systems.
  CgMethod batched_method(const operators::Operator<T>& a, const Preconditioner<T>& preconditioner) const {
    const CgMethod method =
        user_of(solver_, problem_, record_.device, record_.op).batched_method(record_.problem.unknowns);
    if (takes_several(solver_.method) || method == CgMethod::block) return method;
    const bool persistent = may_be_persistent(solver_.loop) && preconditioner.is_fused() &&
                            operators::persistent_cg(a, persistent_for(solver_.loop));
    return persistent ? CgMethod::automatic : method;
  }

  /// Solves A x = b for one load after the other, resuming the first if it was begun.
  LoadSolutions solve_one_by_one(const operators::Operator<T>& a, const Preconditioner<T>& preconditioner,
                                 std::optional<Begun<T>> begun) {
    CgOptions<T> options = cg_options_as<CgOptions<T>>(solver_, a, preconditioner);
    options.from_x = !input_.initial.empty();
    LoadSolutions solutions;
    for (std::size_t i = 0; i < problem_.loads().size(); ++i) {
      const std::string& load = problem_.loads()[i].name();
      const std::string which = load.empty() ? "" : fmt::format("load {}, ", in_quotes(load));
      IterationsLeft left = iterations_left();
      options.monitor = [&](const Iteration& iteration) {
        left.add(iteration.awaited);
        if (progress_.due())
          progress_.update(reached(which, iteration, options.tolerance),
                           progress_of(left, iteration.number, iteration.seconds));
        return !is_asked_to_stop(a, context_.stop);
      };
      progress_.step("copying the load", name(record_.device));
      const operators::Vector<T> b = timed(record_.seconds.transfer, [&] { return system_->b(i, record_.device); });
      system_->check(i, b, options);
      options.energy = system_->energy(i, options.tolerance);
      std::vector<double> x = begun ? std::move(begun->x) : system_->start(i);
      const bool over = begun && !begun->goes_on();
      options.before = begun ? &begun->state : nullptr;
      const double tried = begun ? begun->state.result.seconds : 0;  // already included in the trial
      try {
        solutions.results.push_back(over ? begun->state.result : iterating(progress_, record_, tried, [&] {
          return conjugate_gradients(a, b, x, options);
        }));
      } catch (const InputError& error) {  // this GPU has too few threads for a persistent kernel
        throw InputError(at_place(solver_.loop_place, error.what()));
      }
      if (begun) begun.reset();
      if (solutions.results.back().reason == StopReason::indefinite && !record_.hierarchy.empty())
        solutions.results.back() = without_levels(a, b, x, options, solutions.results.back());
      solutions.unknowns.push_back(std::move(x));
      if (solutions.results.back().reason == StopReason::interrupted) break;
    }
    return solutions;
  }

  /// Continues CG with Jacobi after the preconditioner turned out to be indefinite.
  CgResult without_levels(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
                          CgOptions<T> options, const CgResult& so_far) {
    record_.warnings.push_back(fmt::format("{} was not positive definite in iteration {}: CG went on with jacobi",
                                           record_.preconditioner.name, so_far.iterations));
    const auto jacobi = make_preconditioner<T>("jacobi", a);
    const CgCheckpoint<T> before{so_far, {}, {}, {}, {}};
    options.preconditioner = jacobi.get();
    options.before = &before;
    return iterating(progress_, record_, so_far.seconds, [&] { return conjugate_gradients(a, b, x, options); });
  }

  /// Solves A x = b for all loads at once.
  LoadSolutions solve_batched(CgMethod method, const operators::Operator<T>& a,
                              const Preconditioner<T>& preconditioner) {
    std::vector<operators::Vector<T>> b;
    for (std::size_t i = 0; i < problem_.loads().size(); ++i) b.push_back(system_->b(i, operators::Device::host));
    SystemsCgOptions<T> options = cg_options_as<SystemsCgOptions<T>>(solver_, a, preconditioner);
    system_->check(options);
    options.energy = [&](std::size_t i) { return system_->energy(i, options.tolerance); };
    IterationsLeft left = iterations_left();
    options.monitor = [&](const SystemsIteration& iteration) {
      left.add(iteration.awaited);
      if (progress_.due())
        progress_.update(
            reached(fmt::format("{} of {} loads, ", iteration.running, b.size()), iteration, options.tolerance),
            progress_of(left, iteration.number, iteration.seconds));
      return !is_asked_to_stop(a, context_.stop);
    };
    LoadSolutions solutions;
    options.from_x = !input_.initial.empty();
    for (std::size_t i = 0; i < input_.initial.size(); ++i) solutions.unknowns.push_back(system_->start(i));
    solutions.results = iterating(progress_, record_, 0, [&] {
      return method == CgMethod::block ? block_conjugate_gradients<T>(a, b, solutions.unknowns, options)
                                       : batched_conjugate_gradients<T>(a, b, solutions.unknowns, options);
    });
    solutions.unknowns.resize(solutions.results.size());
    return solutions;
  }

  /// Boundary fluxes of the solutions: computed on the processor while the GPU times its product, if there is one
  /// process; otherwise on demand.
  std::future<std::vector<BoundaryFlux>> fluxes_of(const std::vector<std::vector<double>>& solutions) const {
    std::vector<LoadSolution> of;
    for (std::size_t i = 0; i < solutions.size(); ++i) of.push_back({&problem_.loads()[i], solutions[i]});
    const bool beside = record_.device == operators::Device::cuda && context_.alone();
    return std::async(beside ? std::launch::async : std::launch::deferred,
                      [&problem = problem_, of] { return boundary_fluxes(problem, of); });
  }

  bool is_interrupted() const {
    const auto interrupted = [](const CgResult& result) { return result.reason == StopReason::interrupted; };
    return interrupted(record_.solve) || std::ranges::any_of(record_.loads, interrupted, &LoadRecord::solve);
  }
  IterationsLeft iterations_left() const {
    if (const double known = find_preconditioner(record_.preconditioner.name)->iterations; known > 0)
      return {solver_.tolerance, known};
    return {solver_.tolerance, expected_iterations(problem_.form(), solver_.tolerance, solver_.max_iterations)};
  }

  SolveInput input_;
  SolverChoice solver_;
  CachedParts& kept_;
  const DiscreteProblem& discrete_;
  const Problem& problem_;
  const RunContext& context_;
  Progress& progress_;
  Record& record_;
  std::unique_ptr<LinearSystem<T>> system_;
};

}  // namespace

Solved solve(SolveInput input, CachedParts& kept, const RunContext& context, Record& record) {
  return input.solver.precision == Precision::double_ ? Solve<double>(std::move(input), kept, context, record).run()
                                                      : Solve<float>(std::move(input), kept, context, record).run();
}

}  // namespace femcg::solver

#include "solver/run/run_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/stopwatch.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/timing_trial.hpp"
#include "solver/run/cg_options.hpp"
#include "solver/run/distributed_record.hpp"
#include "solver/tuning/cached_tuning.hpp"
#include "solver/tuning/tunable.hpp"
#include "solver/tuning/tuning_operator.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Operator;

bool may_be_persistent(const SolverChoice& solver) {
  return may_be_persistent(solver.loop) && takes_one_kernel(solver.method) &&
         find_preconditioner(solver.preconditioner.name)->diagonal;
}

namespace {

constexpr std::string_view nothing_is_open =
    "nothing is open: the case states the options, the operator has none here, or there is no memory to try others";
constexpr std::int64_t most_products_tried = 200;  // of a search to its end, and more
constexpr std::int64_t vectors_handed_over = 12;   // of CG, and of the state that one loop leaves the next
constexpr double part_of_solve = 0.01, seconds_at_least = 5e-3;  // that tuning may cost (solver.tune: auto)
constexpr double hoped_for = 0.1;                                // of the seconds of products
constexpr double of_waiting_on_gpu = 20e-6;                      // for one product, by order of magnitude

/// Why CG of this run cannot begin with trials; empty where it can. Collective.
template <std::floating_point T>
std::string why_not(const SolverChoice& solver, const Problem& problem, const MadeOperators<T>& made,
                    const RunContext& context, const Record& record) {
  const bool persistent = may_be_persistent(solver) && operators::persistent_cg(*made.a, persistent_for(solver.loop));
  const std::int64_t handed_over = vectors_handed_over * std::int64_t{sizeof(T)} * made.a->size();
  const bool lacks_memory = operators::available_bytes(record.device) < handed_over;
  const bool any_lacks = context.processes.sum(lacks_memory ? 1.0 : 0.0) > 0;
  if (persistent) return "a persistent kernel is not begun with trials";
  if (user_of(solver, problem, record.device, made.op).takes_all(record.problem.unknowns))
    return "products of several loads at once are not tried";
  if (any_lacks) return "there is no memory for what trials hand over";
  if (solver.tune == Tune::on) return "";
  if (!find_preconditioner(solver.preconditioner.name)->diagonal)
    return "CG with a preconditioner that is not diagonal would restart after trials";
  return has_one_sum(solver.method) ? fmt::format("{} CG would restart after trials", name(solver.method)) : "";
}

double iterations_of(const SolverChoice& solver, const Problem& problem) {
  return expected_iterations(problem.form(), solver.tolerance, solver.max_iterations) *
         static_cast<double>(problem.loads().size());
}

/// What a search may cost where the case leaves it to femcg: 1% of the solve, of which only products are counted, or 5
/// ms, whichever is more, but no more than there is to gain.
SearchLimits limits_of(Tune asked, double iterations, double conversion, Device device, double product) {
  SearchLimits limits{.conversion = conversion, .of_waiting = device == Device::cuda ? of_waiting_on_gpu : 0};
  if (asked == Tune::on) return limits;
  limits.lost =
      std::min(std::max(part_of_solve * iterations * product, seconds_at_least), hoped_for * iterations * product);
  limits.products_left = iterations;
  return limits;
}

/// Whether another conversion may be within these limits, by what a product moves and the copy bandwidth, if that is
/// kept.
bool may_convert(double iterations, double conversion, const operators::Footprint& footprint, Device device) {
  constexpr double doubt = 4;  // of the seconds of a product
  const std::optional<double> bandwidth = cached_copy_bandwidth(device);
  if (!bandwidth) return true;
  const double product = doubt * static_cast<double>(footprint.moved_bytes) / *bandwidth;
  const SearchLimits limits = limits_of(Tune::automatic, iterations, conversion, device, product);
  return conversion < limits.lost;
}

/// The sentence on what a search came to.
std::string selection(const Search& search, const operators::Options& best) {
  const Tried &start = search.tried().front(), &found = search.tried()[search.best_tried()];
  const std::string so_many =
      fmt::format("{} products of CG with {} settings", search.products().size(), search.tried().size());
  if (!search.decided()) return "CG was over before anything was decided";
  if (search.tried().size() == 1)
    return fmt::format("nothing was tried: no other setting was worth its cost beside {} a product",
                       duration(start.least()));
  const std::string stays = listed(options_of(search.start(), search.options(), {}));
  if (search.best_tried() == 0) return fmt::format("{}: none beats {} beyond the noise", so_many, stays);
  return fmt::format("{}: {} takes {} a product, {} took {}", so_many, listed(best), duration(found.least()), stays,
                     duration(start.least()));
}

TuningRecord record_of(Tune requested, const Search& search) {
  const std::vector<TunedOption>& options = search.options();
  TuningRecord record;
  record.requested = name(requested);
  if (search.best_tried() != 0) record.taken = options_of(search.best(), options, {});
  for (const Tried& tried : search.tried())
    record.tried.push_back({options_of(tried.setting, options, {}), tried.seconds.empty() ? 0 : tried.least(),
                            tried.conversion, tried.refused});
  record.products = search.products();
  record.fractions = search.fractions();
  record.lost = search.lost();
  record.why = selection(search, record.taken);
  return record;
}

/// Whether every product so far is to the bit what the best setting makes.
bool same_bits(const Search& search) {
  const Setting& best = search.best();
  return std::ranges::all_of(search.tried(), [&](const Tried& tried) {
    bool same = true;
    for (std::size_t i = 0; i < best.size(); ++i)
      same = same && (tried.setting[i] == best[i] || search.options()[i].same_bits);
    return same || tried.seconds.empty();
  });
}

/// What another run kept, and this one goes on with.
void begin_with_cached(Tune requested, const CachedTuning& kept, Record& record) {
  TuningRecord& tuning = record.tuning.emplace();
  tuning.requested = name(requested);
  tuning.kept = tuning.taken = kept.options;
  tuning.to_the_bit = true;
  tuning.why = kept.options.empty() ? "an earlier run found nothing faster than the defaults"
                                    : fmt::format("{}, as an earlier run found: {} a product instead of {}",
                                                  listed(kept.options), duration(kept.seconds), duration(kept.before));
}

/// What the first process finds open for its own cells, for all processes. Collective.
template <std::floating_point T>
std::vector<TunedOption> open_for_all(const MadeOperators<T>& made, const RunContext& context) {
  const auto* of_several = distributed(*made.a);
  const Operator<T>* part = of_several != nullptr ? of_several->largest_part() : made.a.get();
  if (of_several == nullptr) return open_options(made.op.name, *part, made.op.options);
  std::string text = "[]";
  if (context.processes.is_first() && part != nullptr) {
    nlohmann::json list = nlohmann::json::array();
    for (const TunedOption& option : open_options(made.op.name, *part, made.op.options))
      list.push_back({option.name, option.values, option.start, option.converts, option.up_first, option.same_bits});
    text = list.dump();
  }
  context.processes.broadcast_all(text, 0);
  std::vector<TunedOption> options;
  for (const auto& each : nlohmann::json::parse(text))
    options.push_back({each[0], each[1], each[2], each[3], each[4], each[5]});
  return options;
}

/// The options that may be tuned in this run. `conversion`: seconds that making the operator took.
template <std::floating_point T>
std::vector<TunedOption> options_to_tune(const SolverChoice& solver, const Problem& problem,
                                         const OperatorMaker<T>& maker, const MadeOperators<T>& made, double conversion,
                                         const RunContext& context, Device device) {
  std::vector<TunedOption> open = open_for_all(made, context);
  const bool of_matrix = operators::find_operator(made.op.name)->needs == operators::Needs::matrix;
  const bool lacks_matrix = of_matrix && !maker.has_matrix() && made.a->size() > 0;  // there is no memory for it
  const bool limited = solver.tune == Tune::automatic;
  if (context.processes.sum(lacks_matrix ? 1.0 : 0.0) > 0 ||
      (limited && !may_convert(iterations_of(solver, problem), conversion, made.a->footprint(), device)))
    std::erase_if(open, &TunedOption::converts);
  return open;
}

/// The first load for trials of a run: residuals that CG asks for are computed on the host where one process is alone.
template <std::floating_point T>
CgOptions<T> options_of_trials(const SolverChoice& solver, LinearSystem<T>& system, const Operator<T>& a,
                               const Preconditioner<T>& preconditioner, bool from_x, const RunContext& context) {
  CgOptions<T> options = cg_options(solver, a, preconditioner);
  options.reliable_update = 0;
  options.from_x = from_x;
  options.true_residual = [&system](const std::vector<double>& x) { return system.residual(0, x); };
  options.monitor = [&a, &context](const Iteration&) { return !is_asked_to_stop(a, context.stop); };
  return options;
}

template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> preconditioner_of(const SolverChoice& solver, const Operator<T>& a, Record& record) {
  const PreconditionerChoice& choice = solver.preconditioner;
  return timed(record.seconds.conversion, [&] { return make_preconditioner(choice.name, a, choice.options); });
}

/// CG on the first load, from where it was begun if it was, until the search is over. The best takes the operator's
/// place, and `begun` is where CG came to. Returns whether other programs took the processor meanwhile.
template <std::floating_point T>
bool iterate_with_settings(const SolverChoice& solver, const Problem& problem, LinearSystem<T>& system,
                           const OperatorMaker<T>& maker, MadeOperators<T>& made, Search& search, double conversion,
                           std::optional<Begun<T>>& begun, const RunContext& context, Record& record) {
  std::unique_ptr<Preconditioner<T>> preconditioner =
      begun && begun->preconditioner ? std::move(begun->preconditioner) : preconditioner_of(solver, *made.a, record);
  const operators::Vector<T> b = system.b(0, record.device);
  Begun<T> next;
  next.x = system.start(0);
  CgOptions<T> options = options_of_trials(solver, system, *made.a, *preconditioner, !next.x.empty(), context);
  if (begun) next.x = std::move(begun->x);
  options.before = begun ? &begun->state : nullptr;
  if (const auto* of_several = distributed(*made.a); of_several != nullptr && of_several->seeks_mode()) {
    options.enough = [&] { return !of_several->seeks_mode(); };  // a mode would be taken for what a setting changes
    timed(record.seconds.solve,
          [&] { next.state = iterate_with_trials<T>(*made.a, most_products_tried, b, next.x, options); });
    begun = {std::move(next.state), {}, nullptr};
    options.before = &begun->state;
    if (!begun->goes_on()) {
      search.end();
      begun->x = std::move(next.x);
      begun->preconditioner = std::move(preconditioner);
      return false;
    }
  }
  TuningMeans<T> means;
  means.given = made.op.options;
  means.make = [&](const operators::Options& given) {
    OperatorChoice with = made.op;
    with.options = given;
    return maker.convert(with, *made.a);
  };
  if (context.alone())
    means.limits = [&, iterations = iterations_of(solver, problem)](double product) {
      return limits_of(solver.tune, iterations, conversion, record.device, product);
    };
  else
    means.agreed = [&](double seconds) { return slowest(context.processes, seconds); };
  TuningOperator<T> tuning(*made.a, search, std::move(means));
  options.aside = &tuning.conversions();
  options.enough = [&] { return search.over(); };
  const ProcessorTime before = processor_time();
  timed(record.seconds.solve,
        [&] { next.state = iterate_with_trials<T>(tuning, most_products_tried, b, next.x, options); });
  const bool refused = record.device == Device::host && was_refused(processor_time() - before, record.machine.threads);
  record.seconds.solve -= tuning.conversions();
  record.seconds.conversion += tuning.conversions();
  if (std::unique_ptr<Operator<T>> best = tuning.finish())
    made.a = std::move(best);
  else
    next.preconditioner = std::move(preconditioner);
  begun = std::move(next);
  return refused;
}

}  // namespace

template <std::floating_point T>
Begun<T> choose_by_products(const SolverChoice& solver, LinearSystem<T>& system, MadeOperators<T>& made,
                            const RunContext& context, Record& record) {
  context.progress.step(fmt::format("trying {} and {}", made.op.name, made.runner_up_op.name), name(record.device));
  auto preconditioner = preconditioner_of(solver, *made.a, record);
  const operators::Vector<T> b = system.b(0, record.device);
  Begun<T> begun;
  begun.x = system.start(0);
  const auto options = options_of_trials(solver, system, *made.a, *preconditioner, !begun.x.empty(), context);
  std::function<double(double)> agreed;
  if (!context.alone()) agreed = [&](double seconds) { return slowest(context.processes, seconds); };
  TimingTrial<T> trial = timed(record.seconds.solve, [&] {
    return try_both<T>(*made.a, made.op.name, *made.runner_up, made.runner_up_op.name, b, begun.x, options, agreed);
  });
  begun.state = std::move(trial.state);
  record.why = trial.selection.why;
  if (trial.selection.runner_up) {
    std::swap(made.a, made.runner_up);
    std::swap(made.op, made.runner_up_op);
    std::swap(made.kept, made.runner_up_kept);
    record.op = made.op;
  } else {
    begun.preconditioner = std::move(preconditioner);
  }
  made.runner_up.reset();
  return begun;
}

template <std::floating_point T>
void tune(const SolverChoice& solver, const Problem& problem, LinearSystem<T>& system, const OperatorMaker<T>& maker,
          MadeOperators<T>& made, std::optional<Begun<T>>& begun, const RunContext& context, Record& record) {
  if (made.kept) begin_with_cached(solver.tune, *made.kept, record);
  const bool insisted = solver.tune == Tune::on;
  const bool wanted = insisted || (solver.tune == Tune::automatic && context.alone() && !made.kept);
  if (!wanted || !is_tunable(made.op.name, record.device) || (begun && !begun->goes_on())) return;
  const double conversion = record.seconds.conversion;
  Search search(options_to_tune(solver, problem, maker, made, conversion, context, record.device));
  const std::string why =
      search.over() ? std::string(nothing_is_open) : why_not(solver, problem, made, context, record);
  if (!why.empty()) {
    if (insisted && !record.tuning) record.tuning.emplace() = {.requested = std::string(name(solver.tune)), .why = why};
    return;
  }
  context.progress.step(fmt::format("tuning {}", made.op.name), name(record.device));
  const bool alone = !begun && record.device == Device::host && context.alone();
  const bool refused =
      iterate_with_settings(solver, problem, system, maker, made, search, conversion, begun, context, record);
  if (!insisted && search.tried().size() == 1) return;  // nothing was worth its cost
  const bool changed = search.best_tried() != 0;
  TuningRecord& tuning = record.tuning.emplace(record_of(solver.tune, search));
  if (made.kept) tuning.kept = made.kept->options;
  if (!changed) tuning.taken = tuning.kept;
  tuning.to_the_bit = alone && begun->state.x.size() > 0 && same_bits(search);
  if (!context.alone() || !search.decided() || (refused && !insisted) || (!changed && !search.complete())) return;
  const double seconds = search.tried()[search.best_tried()].least();
  const std::string failure =
      cache_tuning({.key = tuning_key(made.op, *problem.form().space, solver.precision, record.device),
                    .options = tuning.taken,
                    .seconds = seconds,
                    .before = made.kept ? made.kept->before : search.tried().front().least(),
                    .unknowns = problem.form().unknowns});
  if (!failure.empty()) record.warnings.push_back(failure);
}

template Begun<double> choose_by_products(const SolverChoice&, LinearSystem<double>&, MadeOperators<double>&,
                                          const RunContext&, Record&);
template Begun<float> choose_by_products(const SolverChoice&, LinearSystem<float>&, MadeOperators<float>&,
                                         const RunContext&, Record&);
template void tune(const SolverChoice&, const Problem&, LinearSystem<double>&, const OperatorMaker<double>&,
                   MadeOperators<double>&, std::optional<Begun<double>>&, const RunContext&, Record&);
template void tune(const SolverChoice&, const Problem&, LinearSystem<float>&, const OperatorMaker<float>&,
                   MadeOperators<float>&, std::optional<Begun<float>>&, const RunContext&, Record&);

}  // namespace femcg::solver

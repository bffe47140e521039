#include "solver/run/run_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/benchmark/kept_bandwidth.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/trial.hpp"
#include "solver/tuning/kept_tuning.hpp"
#include "solver/tuning/tunable.hpp"
#include "solver/tuning/tuning_operator.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Operator;

std::vector<double> scaled_start(const InitialUnknowns& initial, std::size_t load, const ScaledLoad& scaled) {
  if (initial.empty()) return {};
  std::vector<double> x = initial[load];
  scale(x, scaled.exponent);
  return x;
}

template <std::floating_point T>
FirstLoad<T>::FirstLoad(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
                        const Preconditioner<T>& preconditioner, Device device, Progress& progress,
                        const StopRequested& stop)
    : scaled_(scaled_load(problem.loads().front().values())),
      b_(scaled_.rounded<T>(device)),
      start_(scaled_start(initial, 0, scaled_)) {
  options_.from_x = !start_.empty();
  options_.tolerance = resolved.solver.tolerance;
  options_.max_iterations = resolved.solver.max_iterations;
  options_.method = resolved.solver.method;
  options_.preconditioner = &preconditioner;
  options_.true_residual = [this, &problem, &progress](const std::vector<double>& x) {
    const StepTimes::Within step(progress.times(), residual_step, "cpu");
    return problem.residual(x, scaled_.values());
  };
  options_.monitor = [&stop](const Iteration&) { return !stop(); };
}

template <std::floating_point T>
std::int64_t bytes_of_conversion(const OperatorChoice& op, const operators::Ingredients<T>& from) {
  const operators::Extent<T> extent{from.device, from.form, from.matrix.get(), from.reserved_bytes};
  const operators::StorageEstimate estimate = operators::find_operator(op.name)->estimate<T>(extent, op.options);
  if (estimate.in_chunks) throw std::invalid_argument("its rows would come from the host with each product");
  return estimate.stored() + estimate.making;
}

bool may_reside(const SolverChoice& solver) {
  return may_reside(solver.loop) && takes_one_kernel(solver.method) &&
         find_preconditioner(solver.preconditioner.name)->diagonal;
}

std::string why_not_tried(const TrialsOf& cg) {
  if (cg.resident) return "a loop inside one kernel is not begun with trials";
  if (cg.at_once) return "products of several loads at once are not tried";
  return cg.has_memory ? "" : "there is no memory for what trials hand over";
}

namespace {

constexpr double part_of_solve = 0.01, seconds_at_least = 5e-3;  // that tuning may cost (solver.tune: auto)
constexpr double hoped_for = 0.1;                                // of the seconds of products
constexpr double of_waiting_on_gpu = 20e-6;                      // for one product, by order of magnitude

/// Why CG of this run cannot begin with trials; empty where it can.
template <std::floating_point T>
std::string why_not(const Case& resolved, const Problem& problem, const MadeOperators<T>& made, Device device) {
  const SolverChoice& solver = resolved.solver;
  const bool fused = find_preconditioner(solver.preconditioner.name)->diagonal;
  const std::int64_t handed_over = vectors_handed_over * std::int64_t{sizeof(T)} * problem.form().unknowns;
  const std::string why =
      why_not_tried({.resident = may_reside(solver) && operators::persistent_cg(*made.a, persistent_for(solver.loop)),
                     .at_once = user_of(resolved, problem, device, made.op).takes_all(problem.form().unknowns),
                     .has_memory = operators::available_bytes(device) >= handed_over});
  if (!why.empty() || solver.tune == Tune::on) return why;
  if (!fused) return "CG with a preconditioner that is not diagonal would restart after trials";
  return has_one_sum(solver.method) ? fmt::format("{} CG would restart after trials", name(solver.method)) : "";
}

double iterations_of(const Case& resolved, const Problem& problem) {
  return expected_iterations(problem.form(), resolved.solver.tolerance, resolved.solver.max_iterations) *
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
  const std::optional<double> bandwidth = kept_copy_bandwidth(device);
  if (!bandwidth) return true;
  const double product = doubt * static_cast<double>(footprint.moved_bytes) / *bandwidth;
  const SearchLimits limits = limits_of(Tune::automatic, iterations, conversion, device, product);
  return conversion < limits.lost;
}

/// Another conversion of the operator, where there is memory for it beside the first.
template <std::floating_point T>
std::unique_ptr<Operator<T>> convert(const Problem& problem, const MadeOperators<T>& made,
                                     const operators::Options& options, Device device) {
  operators::Ingredients<T> from;
  from.device = device;
  from.form = &problem.form();
  from.matrix = made.matrix;
  from.reserved_bytes = made.reserved_bytes;
  OperatorChoice with = made.op;
  with.options = options;
  const std::int64_t need = bytes_of_conversion(with, from), there = operators::available_bytes(device);
  if (need > there) throw operators::OutOfMemory(need, there, device);
  return operators::find_operator(with.name)->make(from, options);
}

/// The sentence on what a search came to.
std::string verdict(const Search& search, const operators::Options& best) {
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

}  // namespace

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
  record.why = verdict(search, record.taken);
  return record;
}

namespace {

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
void begin_with_kept(const Case& resolved, const KeptTuning& kept, Record& record) {
  TuningRecord& tuning = record.tuning.emplace();
  tuning.requested = name(resolved.solver.tune);
  tuning.kept = tuning.taken = kept.options;
  tuning.to_the_bit = true;
  tuning.why = kept.options.empty() ? "an earlier run found nothing faster than the defaults"
                                    : fmt::format("{}, as an earlier run found: {} a product instead of {}",
                                                  listed(kept.options), duration(kept.seconds), duration(kept.before));
}

/// The options that may be tuned in this run. `conversion`: seconds that making the operator took.
template <std::floating_point T>
std::vector<TunedOption> options_to_tune(const Case& resolved, const Problem& problem, const MadeOperators<T>& made,
                                         double conversion, Device device) {
  std::vector<TunedOption> open = open_options(made.op.name, *made.a, made.op.options);
  const bool of_matrix = operators::find_operator(made.op.name)->needs == operators::Needs::matrix;
  const bool converts = !of_matrix || made.matrix != nullptr;  // else there is no memory for it
  const bool limited = resolved.solver.tune == Tune::automatic;
  if (!converts || (limited && !may_convert(iterations_of(resolved, problem), conversion, made.a->footprint(), device)))
    std::erase_if(open, &TunedOption::converts);
  return open;
}

/// CG on the first load, from where it was begun if it was, until the search is over. The best takes the operator's
/// place, and `begun` is what CG came to. Returns whether other programs took the processor meanwhile.
template <std::floating_point T>
bool iterate_with_settings(const Case& resolved, const Problem& problem, const InitialUnknowns& initial,
                           MadeOperators<T>& made, Search& search, double conversion, std::optional<Begun<T>>& begun,
                           Progress& progress, const StopRequested& stop, Record& record) {
  const PreconditionerChoice& choice = resolved.solver.preconditioner;
  std::unique_ptr<Preconditioner<T>> preconditioner =
      begun && begun->preconditioner
          ? std::move(begun->preconditioner)
          : timed(record.seconds.conversion, [&] { return make_preconditioner(choice.name, *made.a, choice.options); });
  const FirstLoad<T> first(resolved, problem, initial, *preconditioner, record.device, progress, stop);
  TuningMeans<T> means;
  means.given = made.op.options;
  means.make = [&](const operators::Options& options) { return convert(problem, made, options, record.device); };
  means.limits = [&, iterations = iterations_of(resolved, problem)](double product) {
    return limits_of(resolved.solver.tune, iterations, conversion, record.device, product);
  };
  TuningOperator<T> tuning(*made.a, search, std::move(means));
  CgOptions<T> options = first.options();
  options.aside = &tuning.conversions();
  options.enough = [&] { return search.over(); };
  options.before = begun ? &begun->state : nullptr;
  Begun<T> next;
  next.x = begun ? std::move(begun->x) : first.start();
  const ProcessorTime before = processor_time();
  timed(record.seconds.solve,
        [&] { next.state = iterate_with_trials<T>(tuning, most_products_tried, first.b(), next.x, options); });
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
void tune(const Case& resolved, const Problem& problem, const InitialUnknowns& initial, MadeOperators<T>& made,
          std::optional<Begun<T>>& begun, Progress& progress, const StopRequested& stop, Record& record) {
  const std::shared_ptr<const operators::CsrMatrix<T>> matrix = std::exchange(made.matrix, nullptr);
  if (made.kept) begin_with_kept(resolved, *made.kept, record);
  const bool insisted = resolved.solver.tune == Tune::on;
  const bool wanted = insisted || (resolved.solver.tune == Tune::automatic && !made.kept);
  if (!wanted || !is_tunable(made.op.name, record.device) || (begun && !begun->goes_on())) return;
  made.matrix = matrix;
  const double conversion = record.seconds.conversion;
  Search search(options_to_tune(resolved, problem, made, conversion, record.device));
  const std::string why =
      search.over() ? std::string(nothing_is_open) : why_not(resolved, problem, made, record.device);
  if (!why.empty()) {
    made.matrix.reset();
    if (insisted && !record.tuning)
      record.tuning.emplace() = {.requested = std::string(name(resolved.solver.tune)), .why = why};
    return;
  }
  progress.step(fmt::format("tuning {}", made.op.name), name(record.device));
  const bool alone = !begun && record.device == Device::host;
  const bool refused =
      iterate_with_settings(resolved, problem, initial, made, search, conversion, begun, progress, stop, record);
  made.matrix.reset();
  if (!insisted && search.tried().size() == 1) return;  // nothing was worth its cost
  const bool changed = search.best_tried() != 0;
  TuningRecord& tuning = record.tuning.emplace(record_of(resolved.solver.tune, search));
  if (made.kept) tuning.kept = made.kept->options;
  if (!changed) tuning.taken = tuning.kept;
  tuning.to_the_bit = alone && begun->state.x.size() > 0 && same_bits(search);
  if (!search.decided() || (refused && !insisted) || (!changed && !search.complete())) return;
  const double seconds = search.tried()[search.best_tried()].least();
  const std::string failure =
      keep_tuning({.key = tuning_key(resolved, made.op, problem.form().space->mesh().shape, record.device),
                   .options = tuning.taken,
                   .seconds = seconds,
                   .before = made.kept ? made.kept->before : search.tried().front().least(),
                   .unknowns = problem.form().unknowns});
  if (!failure.empty()) record.remarks.push_back(failure);
}

template std::int64_t bytes_of_conversion(const OperatorChoice&, const operators::Ingredients<double>&);
template std::int64_t bytes_of_conversion(const OperatorChoice&, const operators::Ingredients<float>&);
template class FirstLoad<double>;
template class FirstLoad<float>;
template void tune(const Case&, const Problem&, const InitialUnknowns&, MadeOperators<double>&,
                   std::optional<Begun<double>>&, Progress&, const StopRequested&, Record&);
template void tune(const Case&, const Problem&, const InitialUnknowns&, MadeOperators<float>&,
                   std::optional<Begun<float>>&, Progress&, const StopRequested&, Record&);

}  // namespace femcg::solver

#include "solver/run_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/trial.hpp"
#include "solver/tuning/kept_tuning.hpp"
#include "solver/tuning/tunable.hpp"
#include "solver/tuning/tuning_operator.hpp"

namespace femcg::solver {

using operators::Device;
using operators::Operator;

template <std::floating_point T>
FirstLoad<T>::FirstLoad(const Case& resolved, const Problem& problem, const Preconditioner<T>& preconditioner,
                        Device device, Progress& progress, const StopRequested& stop)
    : scaled_(scaled_load(problem.loads().front().values())),
      b_(operators::copied(rounded<T>(scaled_.values), device)) {
  options_.tolerance = resolved.solver.tolerance;
  options_.max_iterations = resolved.solver.max_iterations;
  options_.method = resolved.solver.method;
  options_.preconditioner = &preconditioner;
  options_.true_residual = [this, &problem, &progress](const std::vector<double>& x) {
    const StepTimes::Within step(progress.times(), residual_step, "cpu");
    return problem.residual(x, scaled_.values);
  };
  options_.monitor = [&stop](const Iteration&) { return !stop(); };
}

namespace {

constexpr double part_of_solve = 0.01, seconds_at_least = 5e-3;  // that tuning may cost (solver.tune: auto)
constexpr double hoped_for = 0.1;                                // of the seconds of products
constexpr double of_waiting_on_gpu = 20e-6;                      // for one product, by order of magnitude
constexpr std::int64_t most_products = 200;                      // of a search to its end, and more

/// Why CG of this run cannot begin with trials; empty where it can.
template <std::floating_point T>
std::string why_not(const Case& resolved, const Problem& problem, const MadeOperators<T>& made,
                    const Preconditioner<T>& preconditioner, const Record& record) {
  const SolverChoice& solver = resolved.solver;
  const MemoryUser user = user_of(resolved, problem, record.device, made.op);
  const bool may_reside = solver.loop != CgLoop::launched && solver.method != CgMethod::classic;
  if (may_reside && preconditioner.is_fused() && operators::persistent_cg(*made.a))
    return "a loop inside one kernel is not begun with trials";
  if (user.takes_all(problem.form().unknowns)) return "products of several loads at once are not tried";
  const bool restarts = !preconditioner.is_fused() || solver.method == CgMethod::single_reduction;
  if (restarts && solver.tune != Tune::on)
    return preconditioner.is_fused() ? "single-reduction CG would restart after trials"
                                     : "CG with a preconditioner that is not diagonal would restart after trials";
  return "";
}

/// What a search may cost where the case leaves it to femcg: 1% of the solve or 5 ms, whichever is more, but no more
/// than there is to gain.
SearchLimits limits_of(const Case& resolved, const Problem& problem, double conversion, Device device, double iteration,
                       double product) {
  const SolverChoice& solver = resolved.solver;
  const double iterations = expected_iterations(problem.form(), solver.tolerance, solver.max_iterations) *
                            static_cast<double>(problem.loads().size());
  SearchLimits limits{.conversion = conversion, .of_waiting = device == Device::cuda ? of_waiting_on_gpu : 0};
  if (solver.tune == Tune::on) return limits;
  limits.lost =
      std::min(std::max(part_of_solve * iterations * iteration, seconds_at_least), hoped_for * iterations * product);
  limits.products_left = iterations;
  return limits;
}

/// Another conversion of the operator, where there is memory for it beside the first.
template <std::floating_point T>
std::unique_ptr<Operator<T>> convert(const Problem& problem, const MadeOperators<T>& made,
                                     const operators::Options& options, Device device) {
  const operators::OperatorDescription& row = *operators::find_operator(made.op.name);
  operators::Ingredients<T> from;
  from.device = device;
  from.form = &problem.form();
  from.matrix = made.matrix;
  from.reserved_bytes = made.reserved_bytes;
  const operators::StorageEstimate estimate =
      row.estimate<T>(operators::Extent<T>{device, from.form, from.matrix.get(), from.reserved_bytes}, options);
  const std::int64_t need = estimate.stored() + estimate.making, there = operators::available_bytes(device);
  if (estimate.in_chunks) throw std::invalid_argument("its rows would come from the host with each product");
  if (need > there) throw operators::OutOfMemory(need, there, device);
  return row.make(from, options);
}

/// The sentence on what a search came to.
std::string verdict(const Search& search, const operators::Options& best) {
  const Tried &start = search.tried().front(), &found = search.tried()[search.best_tried()];
  const std::string so_many =
      fmt::format("{} products of CG with {} settings", search.products().size(), search.tried().size());
  if (search.tried().size() == 1)
    return fmt::format("nothing was tried: no other setting was worth its cost beside {} a product",
                       duration(start.least()));
  const std::string stays = listed(options_of(search.start(), search.options(), {}));
  if (search.best_tried() == 0) return fmt::format("{}: none beats {} beyond the noise", so_many, stays);
  return fmt::format("{}: {} takes {} a product, {} took {}", so_many, listed(best), duration(found.least()), stays,
                     duration(start.least()));
}

TuningRecord record_of(const Case& resolved, const Search& search) {
  const std::vector<TunedOption>& options = search.options();
  TuningRecord record;
  record.requested = name(resolved.solver.tune);
  if (search.best_tried() != 0) record.taken = options_of(search.best(), options, {});
  for (const Tried& tried : search.tried())
    record.tried.push_back({options_of(tried.setting, options, {}), tried.seconds.empty() ? 0 : tried.least(),
                            tried.conversion, tried.refused});
  record.products = search.products();
  record.fractions = search.fractions();
  record.lost = search.lost();
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
void begin_with_kept(const Case& resolved, const KeptTuning& kept, Record& record) {
  TuningRecord& tuning = record.tuning.emplace();
  tuning.requested = name(resolved.solver.tune);
  tuning.kept = tuning.taken = kept.options;
  tuning.to_the_bit = true;
  tuning.why = kept.options.empty() ? "an earlier run found nothing faster than the defaults"
                                    : fmt::format("{}, as an earlier run found: {} a product instead of {}",
                                                  listed(kept.options), duration(kept.seconds), duration(kept.before));
}

}  // namespace

template <std::floating_point T>
void tune(const Case& resolved, const Problem& problem, MadeOperators<T>& made, std::optional<Begun<T>>& begun,
          Progress& progress, const StopRequested& stop, Record& record) {
  const Tune asked = resolved.solver.tune;
  const auto last = [&] { made.matrix.reset(); };
  if (made.kept) begin_with_kept(resolved, *made.kept, record);
  const bool wanted = asked == Tune::on || (asked == Tune::automatic && !made.kept);
  if (!wanted || !is_tunable(made.op.name, record.device) || (begun && !begun->goes_on())) return last();
  const double conversion = record.seconds.conversion;
  std::unique_ptr<Preconditioner<T>> preconditioner;
  if (begun) preconditioner = std::move(begun->preconditioner);
  if (!preconditioner)
    preconditioner = timed(record.seconds.conversion, [&] {
      return make_preconditioner(resolved.solver.preconditioner.name, *made.a, resolved.solver.preconditioner.options);
    });
  std::vector<TunedOption> open = open_options(made.op.name, *made.a, made.op.options);
  const bool of_matrix = operators::find_operator(made.op.name)->needs == operators::Needs::matrix;
  if (of_matrix && made.matrix == nullptr)  // there is no memory for it
    std::erase_if(open, &TunedOption::converts);
  std::string why = open.empty() ? "nothing is open: the case states the options, or the operator's way has none"
                                 : why_not(resolved, problem, made, *preconditioner, record);
  if (!why.empty()) {
    if (asked == Tune::on && !record.tuning)
      record.tuning.emplace() = {.requested = std::string(name(asked)), .why = why};
    if (begun) begun->preconditioner = std::move(preconditioner);
    return last();
  }
  progress.step(fmt::format("tuning {}", made.op.name), name(record.device));
  const FirstLoad<T> first(resolved, problem, *preconditioner, record.device, progress, stop);
  Search search(open);
  operators::Options kept = made.kept ? made.kept->options : operators::Options();
  TuningMeans<T> means;
  means.given = made.op.options;
  means.make = [&](const operators::Options& options) { return convert(problem, made, options, record.device); };
  means.limits = [&](double iteration, double product) {
    return limits_of(resolved, problem, conversion, record.device, iteration, product);
  };
  TuningOperator<T> tuning(*made.a, search, std::move(means));
  CgOptions<T> options = first.options();
  options.aside = &tuning.conversions();
  options.enough = [&] { return search.over(); };
  options.before = begun ? &begun->state : nullptr;
  Begun<T> next;
  if (begun) next.x = std::move(begun->x);
  timed(record.seconds.solve,
        [&] { next.state = iterate_with_trials<T>(tuning, most_products, first.b(), next.x, options); });
  record.seconds.solve -= tuning.conversions();
  record.seconds.conversion += tuning.conversions();
  const bool found = search.over();
  std::unique_ptr<Operator<T>> best = tuning.finish();
  if (best)
    made.a = std::move(best);
  else
    next.preconditioner = std::move(preconditioner);
  const bool alone = !begun && record.device == Device::host && next.state.x.size() > 0;
  begun = std::move(next);
  record.tuning = record_of(resolved, search);
  record.tuning->to_the_bit = alone && same_bits(search);
  record.tuning->kept = std::move(kept);
  record.tuning->why = found ? verdict(search, record.tuning->taken) : "CG was over before anything was decided";
  if (asked == Tune::automatic && search.tried().size() == 1) record.tuning.reset();  // nothing came of it
  if (!record.tuning) return last();
  if (search.best_tried() == 0) record.tuning->taken = record.tuning->kept;
  if (!found || (search.best_tried() == 0 && !search.complete())) return last();
  const Tried &start = search.tried().front(), &fastest = search.tried()[search.best_tried()];
  const std::string failure =
      keep_tuning({.key = tuning_key(resolved, made.op, problem.form().space->mesh().shape, record.device),
                   .options = record.tuning->taken,
                   .seconds = fastest.least(),
                   .before = made.kept ? made.kept->before : start.least(),
                   .unknowns = problem.form().unknowns});
  if (!failure.empty()) record.remarks.push_back(failure);
  last();
}

template class FirstLoad<double>;
template class FirstLoad<float>;
template void tune(const Case&, const Problem&, MadeOperators<double>&, std::optional<Begun<double>>&, Progress&,
                   const StopRequested&, Record&);
template void tune(const Case&, const Problem&, MadeOperators<float>&, std::optional<Begun<float>>&, Progress&,
                   const StopRequested&, Record&);

}  // namespace femcg::solver

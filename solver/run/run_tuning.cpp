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
#include "solver/messages/stopwatch.hpp"
#include "solver/messages/units.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/run/cg_options.hpp"
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
    "no option was tried: the case states them, the operator has none here, or memory is too small to try others";
constexpr std::int64_t most_products_tried = 200;  // more than a complete search needs
constexpr std::int64_t vectors_handed_over = 12;   // of CG and of the state passed from one loop to the next
constexpr double part_of_solve = 0.01, seconds_at_least = 5e-3;  // cost that tuning may have (solver.tune: auto)
constexpr double hoped_for = 0.1;                                // fraction of the products' seconds
constexpr double of_waiting_on_gpu = 20e-6;                      // seconds per product, order of magnitude

/// Sentence on the result of a search.
std::string selection(const Search& search, const operators::Options& best) {
  const Tried &start = search.tried().front(), &found = search.tried()[search.best_tried()];
  const std::string so_many =
      fmt::format("{} products of CG with {} settings", search.products().size(), search.tried().size());
  if (!search.decided()) return "CG was over before anything was decided";
  if (search.tried().size() == 1)
    return fmt::format("no option was tried: beside {} a product, none was expected to pay for its trial",
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

/// True if every product so far is bitwise that of the best setting.
bool same_bits(const Search& search) {
  const Setting& best = search.best();
  return std::ranges::all_of(search.tried(), [&](const Tried& tried) {
    bool same = true;
    for (std::size_t i = 0; i < best.size(); ++i)
      same = same && (tried.setting[i] == best[i] || search.options()[i].same_bits);
    return same || tried.seconds.empty();
  });
}

/// Begins with the cached tuning of another run.
void begin_with_cached(Tune requested, const CachedTuning& kept, Record& record) {
  TuningRecord& tuning = record.tuning.emplace();
  tuning.requested = name(requested);
  tuning.kept = tuning.taken = kept.options;
  tuning.to_the_bit = true;
  tuning.why = kept.options.empty() ? "an earlier run found nothing faster than the defaults"
                                    : fmt::format("{}, as an earlier run found: {} a product instead of {}",
                                                  listed(kept.options), duration(kept.seconds), duration(kept.before));
}

/// Steps of begin_with_trials.
template <std::floating_point T>
class FirstIterations {
 public:
  FirstIterations(const SolverChoice& solver, const Problem& problem, const PreconditionerInput<T>& input,
                  LinearSystem<T>& system, const OperatorMaker<T>& maker, RunOperator<T>& made,
                  const RunContext& context, Record& record)
      : solver_(solver),
        problem_(problem),
        input_(input),
        system_(system),
        maker_(maker),
        made_(made),
        context_(context),
        record_(record) {}

  void tune() {
    if (made_.kept) begin_with_cached(solver_.tune, *made_.kept, record_);
    const bool insisted = solver_.tune == Tune::on;
    const bool wanted = insisted || (solver_.tune == Tune::automatic && context_.alone() && !made_.kept);
    if (!wanted || !is_tunable(made_.op.name, record_.device)) return;
    conversion_ = record_.seconds.conversion;
    Search search(options_to_tune());
    const std::string why = search.over() ? std::string(nothing_is_open) : why_not_tuned();
    if (!why.empty()) {
      if (insisted && !record_.tuning)
        record_.tuning.emplace() = {.requested = std::string(name(solver_.tune)), .why = why};
      return;
    }
    context_.progress.step(fmt::format("tuning {}", made_.op.name), name(record_.device));
    const bool from_start = record_.device == Device::host && context_.alone();
    const bool refused = iterate_with_settings(search);
    if (!insisted && search.tried().size() == 1) return;  // nothing was worth its cost
    const bool changed = search.best_tried() != 0;
    TuningRecord& tuning = record_.tuning.emplace(record_of(solver_.tune, search));
    if (made_.kept) tuning.kept = made_.kept->options;
    if (!changed) tuning.taken = tuning.kept;
    tuning.to_the_bit = from_start && begun_->state.x.size() > 0 && same_bits(search);
    const bool is_sure = search.decided() && (insisted || !refused) && (changed || search.complete());
    if (context_.alone() && is_sure) keep(search, tuning.taken);
  }

  std::optional<Begun<T>>& begun() { return begun_; }

 private:
  /// Reason why this run's CG cannot begin with trials; empty if it can.
  std::string why_not_tuned() const {
    const bool persistent =
        may_be_persistent(solver_) && operators::persistent_cg(*made_.a, persistent_for(solver_.loop));
    const std::int64_t handed_over = vectors_handed_over * std::int64_t{sizeof(T)} * made_.a->size();
    const bool lacks = operators::available_bytes(record_.device) < handed_over;
    const bool any_lacks = context_.processes.sum(lacks ? 1.0 : 0.0) > 0;
    if (persistent) return "a persistent kernel is not begun with trials";
    if (user_of(solver_, problem_, record_.device, made_.op).takes_all(record_.problem.unknowns))
      return "products of several loads at once are not tried";
    if (any_lacks) return "there is no memory for what trials hand over";
    if (solver_.tune == Tune::on) return "";
    if (!find_preconditioner(solver_.preconditioner.name)->diagonal)
      return "CG with a preconditioner that is not diagonal would restart after trials";
    return has_one_sum(solver_.method) ? fmt::format("{} CG would restart after trials", name(solver_.method)) : "";
  }

  /// Estimated number of CG iterations over all loads.
  double iterations() const {
    return expected_iterations(problem_.form(), solver_.tolerance, solver_.max_iterations) *
           static_cast<double>(problem_.loads().size());
  }

  /// Cost that a search may have with `tune: auto`: 1% of the time of the solve's products, of `product` seconds each,
  /// or 5 ms if that is more, but no more than the possible gain.
  SearchLimits limits(double product) const {
    SearchLimits limits{.conversion = conversion_,
                        .of_waiting = record_.device == Device::cuda ? of_waiting_on_gpu : 0};
    if (solver_.tune == Tune::on) return limits;
    const double all = iterations() * product;
    limits.lost = std::min(std::max(part_of_solve * all, seconds_at_least), hoped_for * all);
    limits.products_left = iterations();
    return limits;
  }

  /// True if another conversion may be within the limits, judged by the traffic of a product and the copy bandwidth if
  /// that is cached.
  bool may_convert() const {
    constexpr double doubt = 4;  // of the seconds of a product
    const std::optional<double> bandwidth = cached_copy_bandwidth(record_.device);
    if (solver_.tune == Tune::on || !bandwidth) return true;
    return conversion_ < limits(doubt * static_cast<double>(made_.a->footprint().moved_bytes) / *bandwidth).lost;
  }

  /// Open options as the first process finds them for its own part, for all processes.
  std::vector<TunedOption> open_options_of_all() const {
    const auto* of_several = distributed(*made_.a);
    const Operator<T>* part = of_several != nullptr ? of_several->largest_part() : made_.a.get();
    if (of_several == nullptr) return open_options(made_.op.name, *part, made_.op.options);
    std::string text = "[]";
    if (context_.processes.is_first() && part != nullptr) {
      nlohmann::json list = nlohmann::json::array();
      for (const TunedOption& option : open_options(made_.op.name, *part, made_.op.options))
        list.push_back({option.name, option.values, option.start, option.converts, option.up_first, option.same_bits});
      text = list.dump();
    }
    context_.processes.broadcast_all(text, 0);
    std::vector<TunedOption> options;
    for (const auto& each : nlohmann::json::parse(text))
      options.push_back({each[0], each[1], each[2], each[3], each[4], each[5]});
    return options;
  }

  std::vector<TunedOption> options_to_tune() const {
    std::vector<TunedOption> open = open_options_of_all();
    const bool of_matrix = operators::find_operator(made_.op.name)->needs == operators::Needs::matrix;
    const bool lacks_matrix = of_matrix && !maker_.has_matrix() && made_.a->size() > 0;  // it does not fit in memory
    if (context_.processes.sum(lacks_matrix ? 1.0 : 0.0) > 0 || !may_convert())
      std::erase_if(open, &TunedOption::converts);
    return open;
  }

  std::unique_ptr<Preconditioner<T>> made_preconditioner() {
    const PreconditionerChoice& choice = solver_.preconditioner;
    return timed(record_.seconds.preconditioner,
                 [&] { return make_preconditioner(choice.name, *made_.a, choice.options, input_); });
  }

  /// Options of CG during trials. On one process residuals are computed on the host: operators use the GPU's memory.
  CgOptions<T> options_of_trials(const Preconditioner<T>& preconditioner, bool from_x) const {
    CgOptions<T> options = cg_options_as<CgOptions<T>>(solver_, *made_.a, preconditioner);
    options.reliable_update = 0;
    options.from_x = from_x;
    options.true_residual = [this](const std::vector<double>& x) { return system_.residual(0, x); };
    options.energy = system_.energy(0, solver_.tolerance);
    options.monitor = [this, &a = *made_.a](const Iteration&) { return !is_asked_to_stop(a, context_.stop); };
    return options;
  }

  /// Agreed seconds of all processes: those of the slowest; null on one process.
  std::function<double(double)> agreed_seconds() const {
    if (context_.alone()) return {};
    return [this](double seconds) { return slowest(context_.processes, seconds); };
  }

  /// Iterates until several processes have chosen their exchange mode, whose effect would otherwise be attributed to a
  /// setting. Returns true if CG continues afterwards.
  bool find_mode(const operators::Vector<T>& b, CgOptions<T>& options, std::vector<double>& x) {
    const auto* of_several = distributed(*made_.a);
    if (of_several == nullptr || !of_several->seeks_mode()) return true;
    options.enough = [of_several] { return !of_several->seeks_mode(); };
    CgCheckpoint<T> state = timed(record_.seconds.solve,
                                  [&] { return iterate_with_trials<T>(*made_.a, most_products_tried, b, x, options); });
    begun_.emplace().state = std::move(state);
    options.before = &begun_->state;
    return begun_->goes_on();
  }

  /// Runs CG on the first load until the search is over. Returns true if other programs used the processors meanwhile.
  bool iterate_with_settings(Search& search) {
    std::unique_ptr<Preconditioner<T>> preconditioner = made_preconditioner();
    const operators::Vector<T> b = system_.b(0, record_.device);
    Begun<T> next;
    next.x = system_.start(0);
    CgOptions<T> options = options_of_trials(*preconditioner, !next.x.empty());
    if (!find_mode(b, options, next.x)) {
      search.end();
      begun_->x = std::move(next.x);
      begun_->preconditioner = std::move(preconditioner);
      return false;
    }
    TuningMeans<T> means;
    means.given = made_.op.options;
    means.make = [&](const operators::Options& given) {
      OperatorChoice with = made_.op;
      with.options = given;
      return maker_.convert(with, *made_.a);
    };
    if (context_.alone()) means.limits = [this](double product) { return limits(product); };
    means.agreed = agreed_seconds();
    TuningOperator<T> tuning(*made_.a, search, std::move(means));
    options.aside = &tuning.conversions();
    options.enough = [&] { return search.over(); };
    const ProcessorTime before = processor_time();
    next.state = timed(record_.seconds.solve,
                       [&] { return iterate_with_trials<T>(tuning, most_products_tried, b, next.x, options); });
    const bool refused =
        record_.device == Device::host && was_refused(processor_time() - before, record_.machine.threads);
    record_.seconds.solve -= tuning.conversions();
    record_.seconds.conversion += tuning.conversions();
    if (std::unique_ptr<Operator<T>> best = tuning.finish())
      made_.a = std::move(best);
    else
      next.preconditioner = std::move(preconditioner);
    begun_ = std::move(next);
    return refused;
  }

  void keep(const Search& search, const operators::Options& taken) {
    const std::string failure =
        cache_tuning({.key = tuning_key(made_.op, *problem_.form().space, solver_.precision, record_.device),
                      .options = taken,
                      .seconds = search.tried()[search.best_tried()].least(),
                      .before = made_.kept ? made_.kept->before : search.tried().front().least(),
                      .unknowns = problem_.form().unknowns});
    if (!failure.empty()) record_.warnings.push_back(failure);
  }

  const SolverChoice& solver_;
  const Problem& problem_;
  const PreconditionerInput<T>& input_;
  LinearSystem<T>& system_;
  const OperatorMaker<T>& maker_;
  RunOperator<T>& made_;
  const RunContext& context_;
  Record& record_;
  std::optional<Begun<T>> begun_;
  double conversion_ = 0;  ///< seconds of making the operator
};

}  // namespace

template <std::floating_point T>
std::optional<Begun<T>> begin_with_trials(const SolverChoice& solver, const Problem& problem,
                                          const PreconditionerInput<T>& input, LinearSystem<T>& system,
                                          const OperatorMaker<T>& maker, RunOperator<T>& made,
                                          const RunContext& context, Record& record) {
  FirstIterations<T> first(solver, problem, input, system, maker, made, context, record);
  first.tune();
  return std::move(first.begun());
}

template std::optional<Begun<double>> begin_with_trials(const SolverChoice&, const Problem&,
                                                        const PreconditionerInput<double>&, LinearSystem<double>&,
                                                        const OperatorMaker<double>&, RunOperator<double>&,
                                                        const RunContext&, Record&);
template std::optional<Begun<float>> begin_with_trials(const SolverChoice&, const Problem&,
                                                       const PreconditionerInput<float>&, LinearSystem<float>&,
                                                       const OperatorMaker<float>&, RunOperator<float>&,
                                                       const RunContext&, Record&);

}  // namespace femcg::solver

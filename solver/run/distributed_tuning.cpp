#include "solver/run/distributed_tuning.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "solver/prediction/trial.hpp"
#include "solver/run/distributed_load.hpp"
#include "solver/run/distributed_record.hpp"
#include "solver/run/run_operator.hpp"
#include "solver/run/run_tuning.hpp"
#include "solver/tuning/tunable.hpp"
#include "solver/tuning/tuning_operator.hpp"

namespace femcg::solver {

using operators::Communicator;
using operators::Device;
using operators::DistributedOperator;
using operators::FormPart;
using operators::Operator;

namespace {

/// What may be tuned, as the first process finds it for its own cells: the same on all.
template <std::floating_point T>
std::vector<TunedOption> options_to_tune(const MadeTogether<T>& made, const OperatorChoice& op,
                                         const Communicator& communicator) {
  std::string text;
  if (const Operator<T>* part = made.a->largest_part(); communicator.is_first() && part != nullptr) {
    nlohmann::json list = nlohmann::json::array();
    for (const TunedOption& option : open_options(op.name, *part, op.options))
      list.push_back({option.name, option.values, option.start, option.converts, option.up_first, option.same_bits});
    text = list.dump();
  }
  communicator.broadcast_all(text, 0);
  std::vector<TunedOption> options;
  if (text.empty()) return options;
  for (const auto& each : nlohmann::json::parse(text))
    options.push_back({each[0], each[1], each[2], each[3], each[4], each[5]});
  return options;
}

/// Another conversion of the operator, where there is memory for it beside the first. What fails on one process fails
/// on all.
template <std::floating_point T>
std::unique_ptr<Operator<T>> convert(const SharedRun& of, const MadeTogether<T>& made, const OperatorChoice& op,
                                     const StopRequested& stop, Device device) {
  const std::array<const FormPart*, 2> parts{&of.share.interior, &of.share.interface};
  const auto ingredients = [&](std::size_t i) {
    operators::Ingredients<T> from;
    from.device = device;
    from.form = &parts[i]->form;
    from.matrix = made.matrices[i];
    from.reserved_bytes = made.reserved_bytes;
    return from;
  };
  MemoryEstimate need;
  do_on_all(of.communicator, [&] {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i]->empty())
        (device == Device::cuda ? need.device_bytes : need.host_bytes) += bytes_of_conversion(op, ingredients(i));
  });
  require_memory_of_all(need, op.name, device, of.communicator);
  std::array<std::unique_ptr<Operator<T>>, 2> converted;
  do_on_all(of.communicator, [&] {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i]->empty()) converted[i] = operators::find_operator(op.name)->make(ingredients(i), op.options);
  });
  return std::make_unique<DistributedOperator<T>>(of.communicator, of.share, device, std::move(converted[0]),
                                                  std::move(converted[1]), made.a->mode(), stop, of.cores_to_spare);
}

/// Why CG cannot begin with trials; empty where it can.
template <std::floating_point T>
std::string why_not(const SharedRun& of, const MadeTogether<T>& made, const Record& record) {
  const SolverChoice& solver = of.resolved.solver;
  const std::int64_t handed_over = vectors_handed_over * std::int64_t{sizeof(T)} * of.share.map.size();
  const bool lacks = operators::available_bytes(record.device) < handed_over;
  const bool all_have_memory = of.communicator.sum(lacks ? 1.0 : 0.0) == 0;
  return why_not_tried(
      {.resident = may_reside(solver) && operators::persistent_cg<T>(*made.a, persistent_for(solver.loop)),
       .at_once = user_of(of.resolved, of.problem, record.device, record.op).takes_all(record.problem.unknowns),
       .has_memory = all_have_memory});
}

}  // namespace

template <std::floating_point T>
std::optional<BegunTogether<T>> tune(const SharedRun& of, std::span<const double> start, MadeTogether<T>& made,
                                     const StopRequested& stop, Progress& progress, Record& record) {
  const SolverChoice& solver = of.resolved.solver;
  if (solver.tune != Tune::on || !is_tunable(record.op.name, record.device)) return std::nullopt;
  Search search(options_to_tune(made, record.op, of.communicator));
  if (const std::string why = search.over() ? std::string(nothing_is_open) : why_not(of, made, record); !why.empty()) {
    record.tuning.emplace() = {.requested = std::string(name(solver.tune)), .why = why};
    return std::nullopt;
  }
  progress.step(fmt::format("tuning {}", record.op.name), name(record.device));
  const auto preconditioner = timed(record.seconds.conversion, [&] {
    return make_preconditioner<T>(solver.preconditioner.name, *made.a, solver.preconditioner.options);
  });
  const DistributedLoad<T> load(of, of.problem.loads().front(), *made.a, *preconditioner, progress);
  CgOptions<T> options = load.options();
  BegunTogether<T> begun;
  options.from_x = !start.empty();
  if (options.from_x) begun.x = load.start(start);
  if (made.a->seeks_mode()) {  // which would be taken for what a setting changes
    options.enough = [&] { return !made.a->seeks_mode(); };
    timed(record.seconds.solve,
          [&] { begun.state = iterate_with_trials<T>(*made.a, most_products_tried, load.b(), begun.x, options); });
    if (begun.state.result.reason != StopReason::max_iterations) return begun;
    options.before = &begun.state;
  }
  TuningMeans<T> means;
  means.given = record.op.options;
  means.make = [&](const operators::Options& given) {
    OperatorChoice with = record.op;
    with.options = given;
    return convert(of, made, with, stop, record.device);
  };
  means.agreed = [&](double seconds) { return slowest(of.communicator, seconds); };
  TuningOperator<T> tuning(*made.a, search, std::move(means));
  options.aside = &tuning.conversions();
  options.enough = [&] { return search.over(); };
  BegunTogether<T> next;
  next.x = std::move(begun.x);
  timed(record.seconds.solve,
        [&] { next.state = iterate_with_trials<T>(tuning, most_products_tried, load.b(), next.x, options); });
  record.seconds.solve -= tuning.conversions();
  record.seconds.conversion += tuning.conversions();
  if (std::unique_ptr<Operator<T>> best = tuning.finish())
    made.a.reset(&dynamic_cast<DistributedOperator<T>&>(*best.release()));
  record.tuning.emplace(record_of(solver.tune, search));
  return next;
}

template std::optional<BegunTogether<double>> tune(const SharedRun&, std::span<const double>, MadeTogether<double>&,
                                                   const StopRequested&, Progress&, Record&);
template std::optional<BegunTogether<float>> tune(const SharedRun&, std::span<const double>, MadeTogether<float>&,
                                                  const StopRequested&, Progress&, Record&);

}  // namespace femcg::solver

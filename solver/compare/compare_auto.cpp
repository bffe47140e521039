#include "solver/compare/compare_auto.hpp"

#include <algorithm>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

std::vector<OperatorChoice> operators_of(const std::vector<BenchmarkResult*>& rows) {
  std::vector<OperatorChoice> chosen;
  for (const BenchmarkResult* row : rows) chosen.push_back(row->record.op);
  return chosen;
}

template <std::floating_point T>
std::vector<Prediction> predictions_of(const std::vector<BenchmarkResult*>& rows, const System& system, Device device,
                                       double iterations, int processes) {
  PredictionInput of;
  of.device = device;
  of.form = system.form;
  of.preconditioner = find_preconditioner(system.preconditioner.name);
  of.method = takes_several(system.method) ? CgMethod::automatic : system.method;
  of.loop = system.loop;
  of.iterations = iterations;
  of.available = operators::available_bytes;
  const std::vector<OperatorChoice> chosen = operators_of(rows);
  Rates rates = rates_of(device);
  if (!rates.known()) return {};
  if (const double all = rows.front()->record.machine.copy_bandwidth; processes > 1 && all > 0)
    rates.copy_bandwidth = std::min(rates.copy_bandwidth, all / processes);
  const BandwidthModel model(rates);
  if (system.form != nullptr) {
    std::optional<operators::MatrixRows<T>> counted;
    return predict<T>(of, chosen, model, rates, counted);
  }
  return predict<T>(of, chosen, nullptr, operators::in_precision<T>(system.matrix).get(), model, rates);
}

}  // namespace

void add_predictions(std::vector<BenchmarkResult>& rows, const System& system, Precision precision, double iterations,
                     int processes) {
  for (BenchmarkResult& row : rows)
    if (!row.iteration.empty()) row.expected_iterations = iterations;
  if (system.form == nullptr && system.matrix == nullptr) return;
  for (const Device device : {Device::host, Device::cuda}) {
    std::vector<BenchmarkResult*> timed;
    for (BenchmarkResult& row : rows)
      if (row.record.device == device && row.outcome == Outcome::timed && row.right_hand_sides == 1 &&
          row.record.op.options.empty())
        timed.push_back(&row);
    if (timed.empty()) continue;
    const std::vector<Prediction> predictions =
        precision == Precision::double_ ? predictions_of<double>(timed, system, device, iterations, processes)
                                        : predictions_of<float>(timed, system, device, iterations, processes);
    if (predictions.empty()) continue;
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < timed.size(); ++i) {
      const Record& record = timed[i]->record;
      measured.push_back({record.op.name, record.apply.median(), record.seconds.assembly + record.seconds.conversion,
                          timed[i]->iteration.median()});
      if (!predictions[i].possible()) continue;
      timed[i]->predicted_product = predictions[i].product;
      timed[i]->predicted_set_up = predictions[i].set_up();
      if (!timed[i]->iteration.empty()) timed[i]->predicted_iteration = predictions[i].iteration;
    }
    std::optional<OperatorDecision> by_rule;
    if (system.form != nullptr)
      by_rule = decide_by_rule({.form = system.form,
                                .preconditioner = system.preconditioner.name,
                                .loop = system.loop,
                                .device = device,
                                .processes = processes});
    const auto of_rule = std::ranges::find_if(
        measured, [&](const Measured& each) { return by_rule && each.name == by_rule->named.name; });
    std::optional<Regret> regret;
    if (!by_rule)
      regret = regret_of_auto(predictions, measured);
    else if (of_rule != measured.end() && measured.size() > 1)
      regret = regret_of(static_cast<std::size_t>(of_rule - measured.begin()), by_rule->why, measured, iterations);
    if (!regret) continue;
    timed[regret->chosen]->automatic =
        AutomaticChoice{regret->why, measured[regret->best].name, regret->regret, regret->of_solution, iterations};
  }
}

}  // namespace femcg::solver

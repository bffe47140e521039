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

PredictionInput prediction_input(const System& system, const Record& of, double iterations) {
  return {.device = of.device,
          .form = system.form,
          .preconditioner = find_preconditioner(of.preconditioner.name),
          .method = takes_several(system.method) ? CgMethod::automatic : system.method,
          .loop = system.loop,
          .iterations = iterations,
          .available = operators::available_bytes};
}

template <std::floating_point T>
std::vector<Prediction> predictions_of(const std::vector<BenchmarkResult*>& rows, const System& system,
                                       const PredictionInput& of, int processes) {
  const std::vector<OperatorChoice> chosen = operators_of(rows);
  Rates rates = rates_of(of.device);
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
    const PredictionInput of = prediction_input(system, timed.front()->record, iterations);
    const std::vector<Prediction> predictions = precision == Precision::double_
                                                    ? predictions_of<double>(timed, system, of, processes)
                                                    : predictions_of<float>(timed, system, of, processes);
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < timed.size(); ++i) {
      const Record& record = timed[i]->record;
      measured.push_back(
          {record.op.name, record.apply.median(), record.seconds.set_up(), timed[i]->iteration.median()});
      if (predictions.empty() || !predictions[i].possible()) continue;
      timed[i]->predicted_product = predictions[i].product;
      timed[i]->predicted_set_up = predictions[i].set_up();
      if (!timed[i]->iteration.empty()) timed[i]->predicted_iteration = predictions[i].iteration;
    }
    if (system.form == nullptr || measured.size() < 2) continue;
    const OperatorDecision decision = decide(of, processes);
    const auto chosen = std::ranges::find(measured, decision.named.name, &Measured::name);
    if (chosen == measured.end()) continue;
    const Regret regret = regret_of(static_cast<std::size_t>(chosen - measured.begin()), measured, iterations);
    timed[regret.chosen]->automatic =
        AutomaticChoice{decision.why, measured[regret.best].name, regret.regret, regret.of_solution, iterations};
  }
}

}  // namespace femcg::solver

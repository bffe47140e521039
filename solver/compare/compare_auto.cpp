#include "solver/compare/compare_auto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "operators/backend/memory.hpp"
#include "operators/catalogue.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/run/run_operator.hpp"

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
                                       double iterations) {
  Situation of;
  of.device = device;
  of.form = system.form;
  of.preconditioner = find_preconditioner(system.preconditioner.name);
  of.method = takes_several(system.method) ? CgMethod::automatic : system.method;
  of.loop = system.loop;
  of.iterations = iterations;
  of.available = operators::available_bytes;
  const std::vector<OperatorChoice> chosen = operators_of(rows);
  const Rates rates = rates_of(device);
  if (!rates.known()) return {};
  const BandwidthModel model(rates);
  if (system.form != nullptr) {
    std::optional<operators::MatrixRows<T>> counted;
    return predict<T>(of, chosen, model, rates, counted);
  }
  if constexpr (std::is_same_v<T, double>) {
    return predict<T>(of, chosen, nullptr, system.matrix.get(), model, rates);
  } else {
    const operators::CsrMatrix<T> rounded = operators::to_single(*system.matrix);
    return predict<T>(of, chosen, nullptr, &rounded, model, rates);
  }
}

/// What rows of one device are expected to take, in their order; none where nothing is known of the device.
using Predict = std::function<std::vector<Prediction>(const std::vector<BenchmarkResult*>&, Device)>;

void add_predictions(std::vector<BenchmarkResult>& rows, const Predict& predictions_for) {
  for (const Device device : {Device::host, Device::cuda}) {
    std::vector<BenchmarkResult*> timed;
    for (BenchmarkResult& row : rows)
      if (row.record.device == device && row.outcome == Outcome::timed && row.right_hand_sides == 1 &&
          row.record.op.options.empty())
        timed.push_back(&row);
    if (timed.empty()) continue;
    const std::vector<Prediction> predictions = predictions_for(timed, device);
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
    const auto regret = regret_of_auto(predictions, measured);
    if (!regret) continue;
    timed[regret->chosen]->automatic = AutomaticChoice{regret->why, measured[regret->best].name, regret->regret,
                                                       regret->of_solution, predictions[regret->chosen].loops};
  }
}

/// Of the first process's share.
template <std::floating_point T>
std::vector<Prediction> predictions_of(const std::vector<BenchmarkResult*>& rows, const SharedRun& of, Device device,
                                       double iterations) {
  Situation situation = situation_of(of.resolved.solver, of.problem, device, iterations);
  if (takes_several(situation.method)) situation.method = CgMethod::automatic;
  Rates rates = rates_of(device);
  if (!rates.known()) return {};
  if (const double all = rows.front()->record.machine.copy_bandwidth; all > 0)
    rates.copy_bandwidth = std::min(rates.copy_bandwidth, all / of.communicator.size());
  std::optional<operators::MatrixRows<T>> counted;
  return predict<T>(situation, operators_of(rows), BandwidthModel(rates), rates, counted);
}

}  // namespace

void add_predictions(std::vector<BenchmarkResult>& rows, const System& system, Precision precision, double iterations) {
  for (BenchmarkResult& row : rows)
    if (!row.iteration.empty()) row.expected_iterations = iterations;
  add_predictions(rows, [&](const std::vector<BenchmarkResult*>& timed, Device device) {
    return precision == Precision::double_ ? predictions_of<double>(timed, system, device, iterations)
                                           : predictions_of<float>(timed, system, device, iterations);
  });
}

void add_predictions(std::vector<BenchmarkResult>& rows, const SharedRun& of, double iterations) {
  add_predictions(rows, [&](const std::vector<BenchmarkResult*>& timed, Device device) {
    return of.resolved.solver.precision == Precision::double_ ? predictions_of<double>(timed, of, device, iterations)
                                                              : predictions_of<float>(timed, of, device, iterations);
  });
}

}  // namespace femcg::solver

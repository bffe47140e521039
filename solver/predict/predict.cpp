#include "solver/predict/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators/backend/memory.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/compare/compare.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/models/cached_model.hpp"
#include "solver/prediction/training/calibrate.hpp"
#include "solver/prediction/training/training.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/problem/problem.hpp"
#include "solver/problem/problem_size.hpp"
#include "solver/run/run_operator.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

Device device_of(const std::string& device) {
  if (is_gpu(device)) require_gpu(device);
  return device_named(device);
}

std::vector<OperatorChoice> operators_of(const PredictChoice& choice, Device device) {
  if (choice.operators.empty()) return all_operators_of(device);
  std::vector<OperatorChoice> chosen;
  for (const OperatorChoice& op : choice.operators) {
    const operators::OperatorDescription& row = *operators::find_operator(op.name);
    if (device == Device::host ? !row.host() : !row.cuda)
      throw InputError(at_place(op.place, fmt::format("operator '{}' has no version for the {}; leave it out", op.name,
                                                      device == Device::host ? "CPU" : "GPU")));
    chosen.push_back(op);
  }
  return chosen;
}

/// |predicted - measured| / measured.
double difference_rate(double predicted, double measured) { return std::abs(predicted - measured) / measured; }

/// Table of predicted and measured times.
std::string side_by_side(const std::vector<Prediction>& predictions, const std::vector<BenchmarkResult>& measured) {
  std::string text = fmt::format("  {:<16} {:>9} {:>9} {:>6}   {:>9} {:>9} {:>6}\n", "operator", "product", "measured",
                                 "off by", "iteration", "measured", "off by");
  std::vector<double> rates;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const Prediction& expected = predictions[i];
    const BenchmarkResult& row = measured[i];
    if (!expected.possible() || row.outcome != Outcome::timed) {
      text += fmt::format("  {:<16} cannot be had: {}\n", expected.op.name,
                          expected.possible() ? row.reason : expected.not_possible);
      continue;
    }
    const double product = row.record.apply.median();
    rates.push_back(difference_rate(expected.product, product));
    text += fmt::format("  {:<16} {:>9} {:>9} {:>5.1f}%", expected.op.name, duration(expected.product),
                        duration(product), 100 * rates.back());
    if (!row.iteration.empty()) {
      // With several right-hand sides, a result has the seconds per right-hand side.
      const double iteration = row.iteration.median() * row.right_hand_sides;
      text += fmt::format("   {:>9} {:>9} {:>5.1f}%", duration(expected.iteration), duration(iteration),
                          100 * difference_rate(expected.iteration, iteration));
    }
    text += "\n";
  }
  if (rates.empty()) return text;
  std::ranges::sort(rates);
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return text + fmt::format("  difference rate of the products: mean {:.1f}%, median {:.1f}%, worst {:.1f}%\n",
                            100 * sum / static_cast<double>(rates.size()), 100 * rates[rates.size() / 2],
                            100 * rates.back());
}

/// Measured times of the operators, in the order of `predictions`.
std::vector<BenchmarkResult> measure_all(const System& system, const std::vector<Prediction>& predictions,
                                         const PredictionInput& of, Precision precision, Progress& progress,
                                         const StopRequested& stop) {
  std::vector<BenchmarkEntry> entries;
  for (const Prediction& each : predictions) entries.push_back({each.op, of.device, {}, each.not_possible});
  ComparisonSettings settings;
  settings.precision = precision;
  settings.iterations = 20;
  settings.repetitions = 3;
  const int at_once = static_cast<int>(of.systems);
  if (at_once > 1) settings.right_hand_sides = {1, at_once};
  settings.go_on = [&](double, const std::string& next) {
    progress.step(next);
    return !stop();
  };
  settings.stop = stop;
  Record common;
  common.command = "predict";
  common.machine = this_machine();
  std::vector<BenchmarkResult> rows = compare_operators(system, entries, settings, common);
  std::erase_if(rows, [&](const BenchmarkResult& row) { return row.right_hand_sides != at_once; });
  return rows;
}

/// Table of the trained model's predictions, with the bandwidth model's and, if any, measured times. `trained`,
/// `expected` and `measured` list the same operators in the same order.
std::string trained_beside(const std::vector<Prediction>& trained, const std::vector<Prediction>& expected,
                           const std::vector<BenchmarkResult>& measured) {
  std::string text = fmt::format("  {:<16} {:>9} {:>9}", "product", "trained", "bandwidth");
  text += measured.empty() ? "\n" : fmt::format(" {:>9} {:>7} {:>9}\n", "measured", "trained", "bandwidth");
  double of_trained = 0, of_bandwidth = 0;
  int count = 0;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (!trained[i].possible()) {
      text += fmt::format("  {:<16} cannot be had: {}\n", with_options(trained[i].op), trained[i].not_possible);
      continue;
    }
    text += fmt::format("  {:<16} {:>9} {:>9}", with_options(trained[i].op), duration(trained[i].product),
                        duration(expected[i].product));
    if (!measured.empty() && measured[i].outcome == Outcome::timed) {
      const double seconds = measured[i].record.apply.median();
      const double rate = difference_rate(trained[i].product, seconds);
      const double bandwidth_rate = difference_rate(expected[i].product, seconds);
      text += fmt::format(" {:>9} {:>6.1f}% {:>8.1f}%", duration(seconds), 100 * rate, 100 * bandwidth_rate);
      of_trained += rate;
      of_bandwidth += bandwidth_rate;
      ++count;
    }
    text += "\n";
  }
  if (count > 0)
    text += fmt::format("  mean difference rate: {:.1f}% by the trained model, {:.1f}% by the bandwidth model\n",
                        100 * of_trained / count, 100 * of_bandwidth / count);
  return text;
}

/// Operators of a trained model, restricted to the requested ones.
std::vector<OperatorChoice> known_to(const TrainedModel& model, const PredictChoice& choice) {
  std::vector<OperatorChoice> known;
  for (const TrainedTimes& each : model.operators())
    if (choice.operators.empty() || std::ranges::any_of(choice.operators, [&](const OperatorChoice& op) {
          return op.name == each.name && (op.options.empty() || op.options == each.options);
        }))
      known.push_back({each.name, each.options, {}});
  return known;
}

/// Predicts, measures if asked for, and prints.
template <std::floating_point T>
ExitStatus show(const std::string& heading, const PredictionInput& of, const operators::CsrMatrix<T>* matrix,
                const System& system, Precision precision, const PredictChoice& choice, Progress& progress,
                const StopRequested& stop) {
  const Rates rates = rates_of(of.device);
  if (!rates.known()) throw MachineError("nothing can be predicted: " + rates.warnings.front());
  const BandwidthModel model(rates);
  const std::vector<OperatorChoice> chosen = operators_of(choice, of.device);
  std::optional<operators::MatrixRows<T>> rows;
  const auto predicted = [&](const std::vector<OperatorChoice>& operators, const Model& by) {
    return of.form == nullptr ? predict<T>(of, operators, nullptr, matrix, by, rates)
                              : predict<T>(of, operators, by, rates, rows);
  };
  const std::vector<Prediction> predictions = predicted(chosen, model);
  if (predictions.empty())
    throw InputError("none of the operators is made from a matrix alone; name another, or give a case");
  std::vector<BenchmarkResult> measured;
  if (choice.measure) measured = measure_all(system, predictions, of, precision, progress, stop);
  const CachedModel kept = of.systems == 1 ? cached_model(of.device, precision) : CachedModel();
  std::string by_training;
  if (kept.model)
    if (const std::vector<OperatorChoice> known = known_to(*kept.model, choice); !known.empty()) {
      const std::vector<Prediction> trained = predicted(known, *kept.model);
      by_training = trained_beside(trained, predicted(known, model),
                                   choice.measure ? measure_all(system, trained, of, precision, progress, stop)
                                                  : std::vector<BenchmarkResult>());
    }
  progress.clear();
  std::string text = heading;
  if (rates.copy_bandwidth > 0) text += fmt::format(", copies {}", scaled(rates.copy_bandwidth, "B/s"));
  if (of.systems > 1) text += fmt::format(", {} right-hand sides at once", of.systems);
  text += choice.measure
              ? "\n" + side_by_side(predictions, measured)
              : fmt::format(", {:.0f} iterations{}\n", of.iterations, of.systems > 1 ? " one after the other" : "") +
                    to_text(predictions, "  ");
  if (predictions.size() > 1 && of.form != nullptr) text += fmt::format("  auto: {}\n", decide(of, 1).why);
  print(fmt::format("{}{}", text, by_training));
  if (!kept.warning.empty() && std::ranges::find(rates.warnings, kept.warning) == rates.warnings.end())
    print_note(kept.warning);
  for (const std::string& warning : rates.warnings) print_note(warning);
  return stop() ? ExitStatus::not_converged : ExitStatus::done;
}

/// Input for a case as femcg run solves it, but with the requested number of right-hand sides, or one that can be
/// measured, which a comparison solves by batched CG.
PredictionInput prediction_input_of(const Case& resolved, const Problem& problem, Device device,
                                    const PredictChoice& choice) {
  PredictionInput of =
      prediction_input_of(resolved.solver, problem, device, expected_iterations(problem, resolved.solver));
  if (choice.right_hand_sides)
    of.systems = *choice.right_hand_sides;
  else if (choice.measure)
    of.systems = std::min<std::int64_t>(of.systems, operators::MultiVector<double>::most);
  else
    return of;
  if (of.systems > 1) of.method = CgMethod::batched;
  return of;
}

}  // namespace

ExitStatus predict(const Case& resolved, const PredictChoice& choice, const Console& console,
                   const StopRequested& stop) {
  Progress progress(console.progress);
  const Device device = device_of(choice.device);
  progress.step("meshing");
  const mesh::Mesh mesh = make_mesh(resolved.mesh);
  const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
  const Problem problem(resolved.problem, space);
  progress.step("predicting");
  const PredictionInput of = prediction_input_of(resolved, problem, device, choice);
  const bool loaded = std::ranges::any_of(problem.load(), [](double value) { return value != 0; });
  System system;
  system.form = &problem.form();
  if (loaded) system.load = problem.load();
  system.preconditioner = resolved.solver.preconditioner;
  system.method = of.method;
  system.loop = of.loop;
  const Precision precision = of_products(resolved.solver.precision);
  const ProblemSize size = size_of(problem);
  const std::string heading = fmt::format("{}: {} {} of degree {}, {} unknowns; {} precision, {}", resolved.title,
                                          grouped(size.cells), plural(size.shape), size.degree, grouped(size.unknowns),
                                          name(resolved.solver.precision), name(of.device));
  return precision == Precision::double_ ? show<double>(heading, of, nullptr, system, precision, choice, progress, stop)
                                         : show<float>(heading, of, nullptr, system, precision, choice, progress, stop);
}

ExitStatus predict_matrix(const std::filesystem::path& file, Precision precision, const PredictChoice& choice,
                          const Console& console, const StopRequested& stop) {
  Progress progress(console.progress);
  PredictionInput of;
  of.device = device_of(choice.device);
  of.systems = choice.right_hand_sides.value_or(1);
  of.method = of.systems > 1 ? CgMethod::batched : CgMethod::automatic;
  of.available = operators::available_bytes;
  progress.step("reading " + file.filename().string());
  const auto matrix = std::make_shared<const operators::CsrMatrix<double>>(read_matrix(file));
  of.preconditioner = find_preconditioner("none");
  of.iterations = expected_iterations(matrix->rows, SolverChoice().max_iterations);
  System system;  // products only: the matrix need not be positive definite
  system.matrix = matrix;
  const std::string heading =
      fmt::format("{}: {} x {}, {} nonzeros; {} precision, {}", file.filename().string(), grouped(matrix->rows),
                  grouped(matrix->rows), grouped(matrix->nonzeros()), name(precision), name(of.device));
  const auto show_in = [&]<class T>(T) {
    return show<T>(heading, of, operators::in_precision<T>(matrix).get(), system, precision, choice, progress, stop);
  };
  return precision == Precision::double_ ? show_in(double()) : show_in(float());
}

ExitStatus train(const TrainChoice& choice, const Console& console, const StopRequested& stop) {
  Progress progress(console.progress);
  const Device device = device_of(choice.device);
  progress.step("measuring the speeds of the machine");
  const Rates rates = rates_of(device);
  if (!rates.known()) throw MachineError("nothing can be predicted: " + rates.warnings.front());
  const TrainingSettings settings{.device = device,
                                  .seconds = choice.seconds,
                                  .precisions = choice.precisions,
                                  .go_on =
                                      [&](const std::string& next) {
                                        progress.step(next);
                                        return !stop();
                                      },
                                  .stop = stop};
  const Calibrated calibrated = calibrate(settings, rates);
  const std::vector<Trained> trained = stop() ? std::vector<Trained>() : train(settings, rates);
  progress.clear();
  if (stop()) {
    print_note("interrupted; no model was kept");
    return ExitStatus::not_converged;
  }
  print(fmt::format("{}: the bandwidth model was calibrated with every operator on {} boxes\n", device_name(device),
                    calibrated.boxes));
  if (calibrated.left_out > 0)
    print_note(
        fmt::format("{} measurements were left out, since other programs took the processor meanwhile; train "
                    "again when the machine is idle",
                    calibrated.left_out));
  if (const std::string failure = cache_calibration(calibrated.calibration, device); !failure.empty())
    print_note(failure);
  for (const Trained& each : trained) {
    print(fmt::format("{}, {} precision: trained on {} matrices; each, predicted by the others, is off by\n",
                      device_name(device), name(each.precision), each.matrices));
    for (const TrainedTimes& times : each.model.operators())
      print(fmt::format("  {:<16} {:>5.1f}%\n", with_options({times.name, times.options, {}}),
                        100 * times.left_out_error));
    if (each.refused > 0)
      print_note(fmt::format("{} measurements were left out, since other programs took the processor", each.refused));
    if (const std::string failure = cache_model(each.model, device, each.precision); !failure.empty())
      print_note(failure);
  }
  return ExitStatus::done;
}

}  // namespace femcg::solver

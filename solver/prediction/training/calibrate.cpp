#include "solver/prediction/training/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "operators/backend/memory.hpp"
#include "solver/benchmark/clock.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/training/benchmark_boxes.hpp"
#include "solver/problem/make_mesh.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

/// Boxes to measure. Beyond the caches of a processor, times per unknown are constant; a GPU needs a million unknowns.
std::vector<BenchmarkBox> boxes_of(Device device) {
  const std::vector<double> sizes =
      device == Device::cuda ? std::vector<double>{4e3, 3e4, 2.5e5} : std::vector<double>{4e3, 6e4};
  std::vector<BenchmarkBox> boxes;
  for (const double dofs : sizes)
    for (const double distort : {0.0, 0.15})
      for (const mesh::CellShape shape : mesh::all_cell_shapes)
        for (int degree = 1; degree <= mesh::max_degree; ++degree) boxes.push_back({shape, degree, dofs, distort});
  return boxes;
}

/// Operators to measure on a box. Distorted cells: all, and matrix-free as on curved cells. Congruent cells: only those
/// that distinguish boxes.
std::vector<OperatorChoice> operators_for(const BenchmarkBox& box, Device device) {
  std::vector<OperatorChoice> chosen = all_operators_of(device);
  if (box.distort > 0)
    chosen.push_back({"matrix-free", {{"geometry", "stored"}}, {}});
  else
    std::erase_if(chosen, [](const OperatorChoice& op) {
      return operators::find_operator(op.name)->needs == operators::Needs::matrix;
    });
  return chosen;
}

using Key = std::pair<std::string, operators::Options>;  ///< name and options of an operator

/// The bandwidth model, which records its queries, or returns measured products instead.
class Listening final : public Model {
 public:
  explicit Listening(const Rates& rates) : model_(rates) {}
  std::optional<double> seconds(const Product& product) const override {
    const Key op(product.row->name, *product.options);
    if (const auto found = measured.find(op); found != measured.end()) return found->second;
    keys[op] = correction_key(product);
    return model_.seconds(product);
  }
  mutable std::map<Key, CorrectionKey> keys;
  std::map<Key, double> measured;

 private:
  BandwidthModel model_;
};

template <std::floating_point T>
void measure_box(const BenchmarkBox& box, const operators::BilinearForm& form, const TrainingSettings& training,
                 const Rates& rates, Calibrated& made) {
  const Device device = training.device;
  const std::vector<OperatorChoice> chosen = operators_for(box, device);
  PredictionInput of;
  of.device = device;
  of.form = &form;
  of.preconditioner = find_preconditioner("jacobi");
  of.iterations = 1;
  of.available = operators::available_bytes;
  Listening model(rates);
  std::optional<operators::MatrixRows<T>> rows;
  const std::vector<Prediction> expected = predict<T>(of, chosen, model, rates, rows);

  const std::vector<double> load(static_cast<std::size_t>(form.unknowns), 1.0);
  System system;
  system.form = &form;
  system.load = load;
  system.preconditioner.name = "jacobi";
  std::vector<BenchmarkEntry> entries;
  for (const Prediction& each : expected) entries.push_back({each.op, device, {}, each.not_possible});
  ComparisonSettings settings;
  settings.precision = sizeof(T) == 8 ? Precision::double_ : Precision::single;
  settings.iterations = 40;
  settings.repetitions = 3;
  settings.go_on = [&](double, const std::string&) { return !training.stop(); };
  settings.stop = training.stop;
  Record common;
  common.command = "predict";
  common.machine = this_machine();
  const std::vector<BenchmarkResult> measured = compare_operators(system, entries, settings, common);
  for (const BenchmarkResult& row : measured)
    if (row.outcome == Outcome::timed)
      model.measured[{row.record.op.name, row.record.op.options}] = row.record.apply.median();
  const std::vector<Prediction> by_products = predict<T>(of, chosen, model, rates, rows);

  const auto ratio = [](double seconds, double predicted) {
    return seconds > 0 && predicted > 0 ? seconds / predicted : 1;
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const BenchmarkResult& row = measured[i];
    const bool refused = std::ranges::find(row.record.warnings, refused_time) != row.record.warnings.end();
    if (refused) ++made.left_out;
    if (row.outcome != Outcome::timed || row.iteration.empty() || refused) continue;
    made.calibration.add(model.keys.at({expected[i].op.name, expected[i].op.options}), form.unknowns,
                         {.product = ratio(row.record.apply.median(), expected[i].product),
                          .iteration = ratio(row.iteration.median(), by_products[i].iteration),
                          .assembly = ratio(row.record.seconds.assembly, expected[i].assembly),
                          .conversion = ratio(row.record.seconds.conversion, expected[i].conversion)});
  }
}

}  // namespace

Calibrated calibrate(const TrainingSettings& settings, Rates rates) {
  constexpr double of_gpu = 4e6;                          // unknowns of most measurements used for the fit
  Calibrated made{std::exchange(rates.calibration, {})};  // may hold some of another precision
  if (settings.device == Device::cuda) made.calibration.fitted_unknowns = of_gpu;
  const double begin = seconds_now(), most_seconds = 3 * settings.seconds;
  const std::vector<BenchmarkBox> boxes = boxes_of(settings.device);
  for (const BenchmarkBox& box : boxes) {
    if (seconds_now() - begin > most_seconds) break;
    const Case resolved = box.resolved();
    const mesh::Mesh mesh = make_mesh(resolved.mesh);
    const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
    const operators::BilinearForm form = laplacian(space, true);
    for (const Precision precision : settings.precisions) {
      if (!settings.go_on(fmt::format("calibrating: box {} of {}, {} of degree {}, {:.0f} of at most {:.0f} s",
                                      made.boxes + 1, boxes.size(), plural(box.shape), box.degree,
                                      seconds_now() - begin, most_seconds)))
        return made;
      precision == Precision::double_ ? measure_box<double>(box, form, settings, rates, made)
                                      : measure_box<float>(box, form, settings, rates, made);
    }
    ++made.boxes;
  }
  return made;
}

}  // namespace femcg::solver

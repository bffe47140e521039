#include "solver/prediction/training/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "operators/backend/memory.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/benchmark/clock.hpp"
#include "solver/benchmark/processor_time.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/messages/error.hpp"
#include "solver/prediction/training/benchmark_boxes.hpp"
#include "solver/prediction/training/benchmark_matrices.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/records/record.hpp"

namespace femcg::solver {

using operators::CsrMatrix;
using operators::Device;

namespace {

/// Replaces a model, and records the features that a trained model would use.
class FeaturesKept final : public Model {
 public:
  std::optional<double> seconds(const Product& product) const override {
    seen.push_back(features_of(product, steps_of(std::string(product.row->name), *product.options, product.device)));
    return 1;
  }
  mutable std::vector<ProductFeatures> seen;
};

/// Training points of one precision, by operator.
struct Points {
  std::vector<std::vector<TrainingPoint>> of_operator;
  int matrices = 0;
};

/// Finite-element matrices of every shape and degree, within and beyond the caches; and some with few rows, whose time
/// is that of the call.
std::vector<BenchmarkBox> training_boxes(double most_bytes) {
  constexpr double bytes_of_entry = 12;
  std::vector<BenchmarkBox> boxes;
  for (const double dofs : {6.0, 40.0})
    for (const mesh::CellShape shape : {mesh::CellShape::triangle, mesh::CellShape::hexahedron})
      for (const int degree : {1, 2}) boxes.push_back({shape, degree, dofs});
  for (const double part : {0.1, 0.02, 0.45, 0.003})
    for (const mesh::CellShape shape : mesh::all_cell_shapes)
      for (int degree = 1; degree <= mesh::max_degree; ++degree)
        boxes.push_back({shape, degree, part * most_bytes / bytes_of_entry / entries_of_row(shape, degree)});
  return boxes;
}

CsrMatrix<double> matrix_of(const BenchmarkBox& box) {
  const Case resolved = box.resolved();
  const mesh::Mesh mesh = make_mesh(resolved.mesh);
  const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
  return matrix_of_ones(laplacian(space, false));
}

template <std::floating_point T>
void measure_matrix(const std::shared_ptr<const CsrMatrix<T>>& matrix, const std::vector<OperatorChoice>& operators,
                    Device device, const Rates& rates, Points& points) {
  constexpr int repetitions = 5;
  PredictionInput of;
  of.device = device;
  of.preconditioner = find_preconditioner("none");
  of.available = operators::available_bytes;
  const FeaturesKept features;
  const std::vector<Prediction> possible = predict<T>(of, operators, nullptr, matrix.get(), features, rates);
  const std::vector<MeasuredProduct> measured = measure_products<T>(matrix, possible, device, repetitions);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < possible.size(); ++i) {
    if (!possible[i].possible()) continue;
    const ProductFeatures& of_product = features.seen[seen++];
    if (measured[i].seconds > 0)
      points.of_operator[i].push_back({of_product, measured[i].seconds, measured[i].refused});
  }
  ++points.matrices;
}

}  // namespace

double most_training_bytes(Device device) { return device == Device::cuda ? 400e6 : 150e6; }

template <std::floating_point T>
std::vector<MeasuredProduct> measure_products(const std::shared_ptr<const CsrMatrix<T>>& matrix,
                                              const std::vector<Prediction>& operators, Device device,
                                              int repetitions) {
  std::vector<MeasuredProduct> measured(operators.size());
  std::vector<std::unique_ptr<operators::Operator<T>>> made;
  std::vector<TimedEntry<T>> entries;
  std::vector<std::size_t> places;
  operators::Ingredients<T> from;
  from.device = device;
  from.matrix = matrix;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!operators[i].possible()) continue;
    try {
      made.push_back(operators::find_operator(operators[i].op.name)->make(from, operators[i].op.options));
    } catch (const std::bad_alloc&) {  // does not fit next to the others
      continue;
    }
    entries.push_back({.a = made.back().get()});
    places.push_back(i);
  }
  time_interleaved<T>(entries, {.iterations = 0, .repetitions = repetitions, .go_on = {}, .stop = {}},
                      [](std::size_t, const std::exception&) {});
  for (std::size_t k = 0; k < entries.size(); ++k)
    measured[places[k]] = {entries[k].product.minimum(),
                           device == Device::host && was_refused(entries[k].processor, this_machine().threads)};
  return measured;
}

std::vector<Trained> train(const TrainingSettings& settings, const Rates& rates) {
  constexpr int most_matrices = 400, least_matrices = 16;
  constexpr std::size_t least_points = 12;
  const Device device = settings.device;
  const std::vector<OperatorChoice> operators = trained_operators(device);
  std::vector<Points> points(settings.precisions.size());
  for (Points& each : points) each.of_operator.resize(operators.size());
  constexpr double bytes_a_second = 6e6, least_bytes = 2e6;  // with little time, smaller matrices in the same number
  const double begin = seconds_now(),
               most_bytes = std::clamp(bytes_a_second * settings.seconds, least_bytes, most_training_bytes(device));
  const std::vector<BenchmarkBox> boxes = training_boxes(most_bytes);
  for (int number = 0; number < least_matrices || (number < most_matrices && seconds_now() - begin < settings.seconds);
       ++number) {
    if (!settings.go_on(fmt::format("training: benchmark matrix {}, {:.0f} of at most {:.0f} s", number + 1,
                                    seconds_now() - begin, settings.seconds)))
      break;
    // One in three is a finite-element matrix, as long as there are any.
    const std::size_t box = static_cast<std::size_t>(number) / 3;
    const auto matrix = std::make_shared<const CsrMatrix<double>>(
        number % 3 == 2 && box < boxes.size() ? matrix_of(boxes[box]) : generate(training_recipe(number, most_bytes)));
    for (std::size_t p = 0; p < points.size(); ++p)
      if (settings.precisions[p] == Precision::double_)
        measure_matrix<double>(matrix, operators, device, rates, points[p]);
      else
        measure_matrix<float>(operators::in_precision<float>(matrix), operators, device, rates, points[p]);
  }
  std::vector<Trained> trained;
  for (std::size_t p = 0; p < points.size(); ++p) {
    const Precision precision = settings.precisions[p];
    settings.go_on("training: fitting");
    Trained made{precision, TrainedModel(device, precision == Precision::double_ ? 8 : 4), points[p].matrices};
    for (std::size_t i = 0; i < operators.size(); ++i) {
      std::vector<TrainingPoint>& all = points[p].of_operator[i];
      const auto disturbed = std::ranges::partition(all, [](const TrainingPoint& each) { return !each.refused; });
      if (all.size() - disturbed.size() >= least_points) {
        made.refused += static_cast<int>(disturbed.size());
        all.erase(disturbed.begin(), disturbed.end());
      }
      if (all.size() >= least_points) made.model.add(operators[i], all);
    }
    if (made.model.operators().empty())
      throw MachineError(fmt::format("no model was trained: {} benchmark matrices are too few", points[p].matrices));
    trained.push_back(std::move(made));
  }
  return trained;
}

template std::vector<MeasuredProduct> measure_products(const std::shared_ptr<const CsrMatrix<double>>&,
                                                       const std::vector<Prediction>&, Device, int);
template std::vector<MeasuredProduct> measure_products(const std::shared_ptr<const CsrMatrix<float>>&,
                                                       const std::vector<Prediction>&, Device, int);

}  // namespace femcg::solver

#include "solver/predict/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "mesh/base/atomic_file.hpp"
#include "operators/backend/memory.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/compare/compare.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/predict/predict.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/models/cached_model.hpp"
#include "solver/prediction/training/benchmark_boxes.hpp"
#include "solver/prediction/training/benchmark_matrices.hpp"
#include "solver/prediction/training/training.hpp"
#include "solver/problem/choose_device.hpp"
#include "solver/problem/make_mesh.hpp"

namespace femcg::solver {

using nlohmann::ordered_json;
using operators::BilinearForm;
using operators::CsrMatrix;
using operators::Device;

namespace {

/// Difference rates of one operator over the matrices.
struct Rating {
  std::vector<double> rates;
  void add(double predicted, double measured) { rates.push_back(std::abs(predicted - measured) / measured); }
  double mean() const { return std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size()); }
  double median() const {
    std::vector<double> sorted = rates;
    std::ranges::sort(sorted);
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  double worst() const { return *std::ranges::max_element(rates); }
};
struct OperatorRating {
  std::string name;
  Rating trained, bandwidth;
};

template <std::floating_point T>
std::shared_ptr<const CsrMatrix<T>> shared(CsrMatrix<double> matrix) {
  return operators::in_precision<T>(std::make_shared<const CsrMatrix<double>>(std::move(matrix)));
}

/// Boxes of every cell shape and degree, some within and some beyond the caches, of at most `most_bytes`.
std::vector<BenchmarkBox> boxes(double most_bytes) {
  constexpr std::array parts{0.6, 0.2, 0.04, 0.9, 0.35};
  std::vector<BenchmarkBox> made;
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= mesh::max_degree; ++degree)
      made.push_back(
          {shape, degree, parts[made.size() % parts.size()] * most_bytes / 12 / entries_of_row(shape, degree)});
  return made;
}

template <std::floating_point T>
class Evaluation {
 public:
  Evaluation(const EvaluationChoice& choice, Device device, const TrainedModel& trained, const Rates& rates,
             Progress& progress, const StopRequested& stop)
      : choice_(choice),
        device_(device),
        trained_(trained),
        rates_(rates),
        by_bandwidth_(rates),
        progress_(progress),
        stop_(stop) {
    for (const TrainedTimes& each : trained.operators()) {
      operators_.push_back({each.name, each.options, {}});
      ratings_.push_back({with_options(operators_.back()), {}, {}});
    }
  }

  void evaluate_all() {
    const double most_bytes = most_training_bytes(device_);
    for (const MatrixRecipe& recipe : evaluation_recipes(most_bytes)) {
      if (stop_()) return;
      progress_.step(recipe.name);
      add(recipe.name, description(recipe), shared<T>(generate(recipe)), nullptr);
    }
    for (const BenchmarkBox& box : boxes(most_bytes)) {
      if (stop_()) return;
      const Case resolved = box.resolved();
      add_space(fmt::format("box, {} of degree {}", plural(box.shape), box.degree),
                fmt::format("mesh.box: {}, degree: {}", box.mesh_text(), box.degree), resolved,
                make_mesh(resolved.mesh));
    }
    for (const std::filesystem::path& file : choice_.more) {
      if (stop_()) return;
      const std::string suffix = file.extension().string(), name = file.filename().string();
      progress_.step(name);
      if (suffix != ".yaml" && suffix != ".yml") {
        add(name, "Matrix Market file", shared<T>(read_matrix(file)), nullptr);
        continue;
      }
      Case resolved = read_case(file);
      const mesh::Mesh mesh = make_mesh(resolved.mesh);
      for (resolved.degree = 1; resolved.degree <= 4 && !stop_(); ++resolved.degree)
        add_space(fmt::format("{}, degree {}", name, resolved.degree), "case at this degree", resolved, mesh);
    }
  }

  std::string table() const {
    std::string text =
        "| operator | matrices | trained: mean | median | worst | bandwidth model: mean | median | worst |\n"
        "|---|---|---|---|---|---|---|---|\n";
    for (const OperatorRating& of : ratings_) {
      if (of.trained.rates.empty()) continue;
      text += fmt::format("| {} | {}", of.name, of.trained.rates.size());
      for (const Rating* rating : {&of.trained, &of.bandwidth})
        text += fmt::format(" | {:.1f}% | {:.1f}% | {:.1f}%", 100 * rating->mean(), 100 * rating->median(),
                            100 * rating->worst());
      text += " |\n";
    }
    text += "\n| matrix | rows | nonzeros |";
    for (const OperatorRating& of : ratings_) text += fmt::format(" {} |", of.name);
    text += "\n|---|---|---|";
    for (std::size_t i = 0; i < ratings_.size(); ++i) text += "---|";
    for (const ordered_json& matrix : matrices_) {
      text += fmt::format("\n| {} | {} | {} |", matrix["name"].get<std::string>(), grouped(matrix["rows"]),
                          grouped(matrix["nonzeros"]));
      for (const ordered_json& of : matrix["operators"])
        text += of.contains("trained_rate") ? fmt::format(" {:.1f}% |", 100 * of["trained_rate"].get<double>()) : " |";
    }
    return text + "\n";
  }

  ordered_json json() const {
    ordered_json summary = ordered_json::array();
    for (const OperatorRating& of : ratings_) {
      if (of.trained.rates.empty()) continue;
      const auto rating = [](const Rating& r) {
        return ordered_json{{"mean", r.mean()}, {"median", r.median()}, {"worst", r.worst()}};
      };
      summary.push_back({{"operator", of.name},
                         {"matrices", of.trained.rates.size()},
                         {"trained", rating(of.trained)},
                         {"bandwidth", rating(of.bandwidth)}});
    }
    return {{"schema", 1},
            {"started", started_},
            {"device", device_name(device_)},
            {"threads", rates_.threads},
            {"precision", name(choice_.precision)},
            {"copy_bandwidth", rates_.copy_bandwidth},
            {"difference_rates", summary},
            {"matrices", matrices_}};
  }

  bool empty() const { return matrices_.empty(); }

 private:
  void add_space(const std::string& name, const std::string& how, const Case& resolved, const mesh::Mesh& mesh) {
    progress_.step(name);
    const mesh::FunctionSpace space = make_space(mesh, resolved.degree, resolved.mesh.place);
    const BilinearForm form = laplacian(space, false);
    add(name, how, shared<T>(matrix_of_ones(form)), &form);
  }

  /// Predicts, from the form before the matrix is examined if there is one, and measures.
  void add(const std::string& name, const std::string& how, const std::shared_ptr<const CsrMatrix<T>>& matrix,
           const BilinearForm* form) {
    constexpr int repetitions = 5;
    PredictionInput of;
    of.device = device_;
    of.form = form;
    of.preconditioner = find_preconditioner("none");
    of.available = operators::available_bytes;
    std::optional<operators::MatrixRows<T>> rows;
    const auto predicted = [&](const Model& model) {
      return form != nullptr ? predict<T>(of, operators_, model, rates_, rows)
                             : predict<T>(of, operators_, nullptr, matrix.get(), model, rates_);
    };
    const std::vector<Prediction> trained = predicted(trained_), bandwidth = predicted(by_bandwidth_);
    const std::vector<MeasuredProduct> measured = measure_products<T>(matrix, trained, device_, repetitions);
    ordered_json list = ordered_json::array();
    for (std::size_t i = 0; i < trained.size(); ++i) {
      ordered_json each{{"operator", ratings_[i].name}};
      if (measured[i].seconds > 0) {
        ratings_[i].trained.add(trained[i].product, measured[i].seconds);
        ratings_[i].bandwidth.add(bandwidth[i].product, measured[i].seconds);
        each.update({{"measured", measured[i].seconds},
                     {"trained", trained[i].product},
                     {"trained_rate", ratings_[i].trained.rates.back()},
                     {"bandwidth", bandwidth[i].product},
                     {"bandwidth_rate", ratings_[i].bandwidth.rates.back()}});
        if (measured[i].refused) each["remark"] = refused_time;
      } else {
        each["reason"] = trained[i].not_possible;
      }
      list.push_back(each);
    }
    matrices_.push_back(
        {{"name", name}, {"how", how}, {"rows", matrix->rows}, {"nonzeros", matrix->nonzeros()}, {"operators", list}});
  }

  const EvaluationChoice& choice_;
  Device device_;
  const TrainedModel& trained_;
  const Rates& rates_;
  BandwidthModel by_bandwidth_;
  Progress& progress_;
  const StopRequested& stop_;
  std::vector<OperatorChoice> operators_;
  std::vector<OperatorRating> ratings_;
  std::vector<ordered_json> matrices_;
  std::string started_ = timestamp();
};

template <std::floating_point T>
ExitStatus evaluated(const EvaluationChoice& choice, Device device, const TrainedModel& model, const Rates& rates,
                     const Console& console, const StopRequested& stop) {
  Progress progress(console.progress);
  Evaluation<T> evaluation(choice, device, model, rates, progress, stop);
  evaluation.evaluate_all();
  progress.clear();
  if (evaluation.empty()) return ExitStatus::not_converged;
  mesh::write_atomically(choice.file, to_text(evaluation.json()));
  print(fmt::format("{}, {} precision\n\n{}", device_name(device), name(choice.precision), evaluation.table()));
  if (stop()) print_note("interrupted; the table has what was measured until then");
  return stop() ? ExitStatus::not_converged : ExitStatus::done;
}

}  // namespace

ExitStatus evaluate(const EvaluationChoice& choice, const Console& console, const StopRequested& stop) {
  if (is_gpu(choice.device)) require_gpu(choice.device);
  const Device device = device_named(choice.device);
  mesh::prepare_for_files(std::filesystem::absolute(choice.file).parent_path(), {choice.file.filename().string()});
  const CachedModel kept = cached_model(device, choice.precision);
  if (!kept.model)
    throw InputError(kept.warning.empty() ? "there is no trained model to evaluate; femcg predict --train makes one"
                                          : kept.warning);
  const Rates rates = rates_of(device);
  if (!rates.known()) throw MachineError("nothing can be predicted: " + rates.warnings.front());
  return choice.precision == Precision::double_ ? evaluated<double>(choice, device, *kept.model, rates, console, stop)
                                                : evaluated<float>(choice, device, *kept.model, rates, console, stop);
}

}  // namespace femcg::solver

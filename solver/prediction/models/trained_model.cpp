#include "solver/prediction/models/trained_model.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "solver/prediction/models/input_bytes.hpp"

namespace femcg::solver {

using operators::Device;

namespace {

constexpr std::size_t least_points = 8;

/// Terms of T0.
std::vector<double> terms(const ProductFeatures& f, Device device, int word_bytes) {
  // With cyclic access, data are evicted long before they fill the whole cache.
  const double cached = std::min(1.0, cache_bytes(device) / 3 / f.working_bytes), fetched = 1 - cached;
  const double again = std::max(0.0, f.input_bytes - f.rows * word_bytes);  // x, read more than once
  std::vector<double> all{1, f.rows, f.irregular, again};
  // On a GPU a single long row occupies few threads while the others wait; a processor's threads process other rows.
  const double longest = device == Device::cuda ? f.longest_steps : 0;
  for (const double term : {f.moved_bytes, f.lines, f.lines_of_blocks, f.steps, longest}) {
    all.push_back(fetched * term);
    all.push_back(cached * term);
  }
  return all;
}

/// Coordinates of a matrix for the interpolation: its size, row length, lines of x per entry and per block, filling of
/// steps, length of the longest row relative to the others and to all, repeated reads of x, and irregularity of rows.
std::vector<double> point_of(const ProductFeatures& f, int word_bytes) {
  const auto ratio = [](double a, double b) { return std::log2(std::max(a, 1e-6) / std::max(b, 1e-6)); };
  return {ratio(f.working_bytes, 1),          ratio(f.nonzeros, f.rows),
          ratio(f.lines, f.nonzeros),         ratio(f.lines_of_blocks, f.nonzeros),
          ratio(f.steps, f.nonzeros),         ratio(f.longest_steps * f.rows, f.steps),
          ratio(f.longest_steps, f.steps),    ratio(f.input_bytes, f.rows * word_bytes),
          f.irregular / std::max(f.rows, 1.0)};
}

/// Converts a training point to a line of numbers, and back.
std::vector<double> line_of(const TrainingPoint& point) {
  const ProductFeatures& f = point.features;
  return {f.rows,          f.nonzeros, f.moved_bytes,     f.working_bytes, f.input_bytes, f.steps,
          f.longest_steps, f.lines,    f.lines_of_blocks, f.irregular,     point.seconds};
}
TrainingPoint point_from(const std::vector<double>& line) {
  return {{line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7], line[8], line[9]}, line[10]};
}

double first_estimate(const std::vector<double>& coefficients, const std::vector<double>& terms) {
  double seconds = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) seconds += coefficients[i] * terms[i];
  return seconds;
}

/// Numbers of a JSON list; throws unless they are finite and `count` in number.
std::vector<double> numbers(const nlohmann::ordered_json& json, std::size_t count) {
  const auto list = json.get<std::vector<double>>();
  if (list.size() != count || !std::ranges::all_of(list, [](double x) { return std::isfinite(x); }))
    throw std::invalid_argument("a list of a trained model has a wrong length, or no numbers");
  return list;
}

}  // namespace

std::vector<OperatorChoice> trained_operators(Device device) {
  if (device == Device::host) return {{"csr", {}, {}}, {"ellpack", {}, {}}, {"jad", {}, {}}};
  return {{"csr", {{"coop", "16"}}, {}}, {"csr", {{"coop", "1"}}, {}}, {"ellpack", {}, {}}, {"jad", {}, {}}};
}

RowSteps steps_of(const std::string& name, const operators::Options& options, Device device) {
  const bool sorted = name == "jad", to_longest = name == "ellpack";
  if (device == Device::host)
    return name == "csr" ? RowSteps{1, 8, false, false, 64} : RowSteps{8, 1, sorted, to_longest, 64};
  const auto coop = options.find("coop");
  if (coop == options.end()) return {32, 1, sorted, to_longest, 32};
  const int threads = std::stoi(coop->second);
  return {32 / threads, threads, false, false, 32};
}

double TrainedTimes::seconds(const ProductFeatures& features, Device device, int word_bytes) const {
  return first_estimate(coefficients, terms(features, device, word_bytes)) *
         std::exp(correction.at(point_of(features, word_bytes)));
}

void TrainedModel::add(const OperatorChoice& op, const std::vector<TrainingPoint>& points) {
  if (points.size() < least_points) throw std::invalid_argument("too few benchmark matrices for a trained model");
  Rows all_terms, all_points;
  std::vector<double> measured, corrections;
  for (const TrainingPoint& each : points) {
    all_terms.push_back(terms(each.features, device_, word_bytes_));
    all_points.push_back(point_of(each.features, word_bytes_));
    measured.push_back(each.seconds);
  }
  TrainedTimes made{op.name, op.options, points, nonnegative_least_squares(all_terms, measured), {}, 0};
  for (std::size_t i = 0; i < points.size(); ++i)
    corrections.push_back(std::log(measured[i] / first_estimate(made.coefficients, all_terms[i])));
  std::vector<double> errors;
  made.correction = fit_kriging(all_points, corrections, &errors);
  for (const double error : errors) made.left_out_error += std::abs(std::expm1(-error));
  made.left_out_error /= static_cast<double>(errors.size());
  times_.push_back(std::move(made));
}

std::optional<double> TrainedModel::seconds(const Product& product) const {
  if (product.device != device_ || product.word_bytes != word_bytes_ || product.right_hand_sides != 1)
    return std::nullopt;
  const auto found = std::ranges::find_if(times_, [&](const TrainedTimes& each) {
    return each.name == product.row->name && each.options == *product.options;
  });
  if (found == times_.end() || product.row_offsets.size() < 2) return std::nullopt;
  const ProductFeatures features = features_of(product, steps_of(found->name, found->options, device_));
  return features.nonzeros > 0 ? std::optional(found->seconds(features, device_, word_bytes_)) : std::nullopt;
}

nlohmann::ordered_json TrainedModel::to_json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TrainedTimes& each : times_) {
    Rows points;
    for (const TrainingPoint& point : each.points) points.push_back(line_of(point));
    list.push_back({{"name", each.name},
                    {"options", each.options},
                    {"coefficients", each.coefficients},
                    {"left_out_error", each.left_out_error},
                    {"mean", each.correction.mean},
                    {"lengths", each.correction.lengths},
                    {"weights", each.correction.weights},
                    {"points", points}});
  }
  return list;
}

TrainedModel TrainedModel::from_json(const nlohmann::ordered_json& json, Device device, int word_bytes) {
  TrainedModel model(device, word_bytes);
  if (!json.is_array() || json.empty()) throw std::invalid_argument("a trained model is a list of operators");
  const std::size_t axes = point_of({}, word_bytes).size(), count = terms({}, device, word_bytes).size();
  const auto positive = [](double number) { return number > 0; };
  for (const auto& each : json) {
    TrainedTimes times;
    times.name = each.at("name").get<std::string>();
    times.options = each.at("options").get<operators::Options>();
    const std::vector<OperatorChoice> trained = trained_operators(device);
    const bool known = std::ranges::any_of(
        trained, [&](const OperatorChoice& op) { return op.name == times.name && op.options == times.options; });
    times.coefficients = numbers(each.at("coefficients"), count);
    times.left_out_error = each.at("left_out_error").get<double>();
    times.correction.mean = each.at("mean").get<double>();
    times.correction.lengths = numbers(each.at("lengths"), axes);
    for (const auto& line : each.at("points")) {
      times.points.push_back(point_from(numbers(line, line_of({}).size())));
      times.correction.points.push_back(point_of(times.points.back().features, word_bytes));
    }
    times.correction.weights = numbers(each.at("weights"), times.points.size());
    if (!known || !std::ranges::all_of(times.correction.lengths, positive) ||
        std::ranges::any_of(times.coefficients, [](double c) { return c < 0; }))
      throw std::invalid_argument("a trained model has an operator or a number that cannot be");
    model.times_.push_back(std::move(times));
  }
  return model;
}

}  // namespace femcg::solver

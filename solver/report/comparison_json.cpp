// Files of a comparison for programs: compare.json and compare.csv.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "solver/report/comparison_report.hpp"
#include "solver/report/recommendation.hpp"

namespace femcg::solver {

namespace {

using nlohmann::ordered_json;

double inverse(double seconds) { return seconds > 0 ? 1 / seconds : 0; }

template <typename Number>
ordered_json number_or_null(const std::optional<Number>& number) {
  return number ? ordered_json(*number) : ordered_json(nullptr);
}

ordered_json matrix_json(const BenchmarkResult& row) {
  const operators::MatrixStatistics& matrix = *row.matrix;
  const MatrixSource* source = row.source.get();
  ordered_json histogram = ordered_json::array();
  for (const auto& [length, count] : matrix.rows_of_length) histogram.push_back({length, count});
  ordered_json json{{"nonzeros", row.record.footprint.nonzeros}, {"bandwidth", matrix.bandwidth}};
  if (source != nullptr && source->bandwidth_before) json["bandwidth_before"] = *source->bandwidth_before;
  json["row_lengths"] = {{"minimum", matrix.shortest_row},
                         {"maximum", matrix.longest_row},
                         {"mean", matrix.mean_row},
                         {"deviation", matrix.row_deviation},
                         {"histogram", histogram}};
  return json;
}

ordered_json comparison_json(const BenchmarkResult& row, const Baseline* baseline) {
  ordered_json json{{"status", name(row.outcome)},
                    {"reason", row.reason},
                    {"right_hand_sides", row.right_hand_sides},
                    {"agreement", number_or_null(row.agreement)},
                    {"agreement_bound", number_or_null(row.agreement_bound)},
                    {"repetitions", row.record.apply.count()},
                    {"iterations_per_second_minimum", inverse(row.iteration.maximum())},
                    {"iterations_per_second_maximum", inverse(row.iteration.minimum())},
                    {"roof_iterations_per_second", row.roof()},
                    {"break_even_iterations", number_or_null(row.break_even)}};
  if (row.product_gain) json["product_gain"] = *row.product_gain;
  if (row.iteration_gain) json["iteration_gain"] = *row.iteration_gain;
  if (row.predicted_product) json["predicted_product_seconds"] = *row.predicted_product;
  if (row.predicted_iteration) json["predicted_iteration_seconds"] = *row.predicted_iteration;
  if (row.predicted_set_up) json["predicted_set_up_seconds"] = *row.predicted_set_up;
  if (row.expected_iterations) json["expected_iterations"] = *row.expected_iterations;
  if (row.automatic)
    json["auto"] = {{"why", row.automatic->why},
                    {"best", row.automatic->best},
                    {"regret", row.automatic->regret},
                    {"of", row.automatic->of_solution ? "solution" : "product"},
                    {"iterations", row.automatic->iterations}};
  const auto change = baseline != nullptr ? baseline->change(row) : std::nullopt;
  if (change) {
    json["baseline_ratio"] = change->ratio;
    json["baseline_verdict"] = name(change->verdict);
  }
  return json;
}

ordered_json to_json(const BenchmarkResult& row, const Baseline* baseline) {
  const Record& r = row.record;
  ordered_json json = to_json(r);
  if (row.source)
    json["problem"] = {{"matrix", row.source->name},
                       {"unknowns", r.problem.unknowns},
                       {"symmetric", row.source->symmetric},
                       {"ordering", row.source->ordering}};
  json["sweep"] = row.sweep;
  if (row.matrix) json["matrix"] = matrix_json(row);
  json["operator"]["data_reduction"] = number_or_null(row.data_reduction);
  const bool cached = row.caching_bytes > 0 && !r.apply.empty();
  json["apply"]["caching_bandwidth"] =
      cached ? ordered_json(static_cast<double>(row.caching_bytes) / r.apply.median()) : ordered_json(nullptr);
  json["solve"] = preconditioner_json(r);
  json["solve"].update({{"cg", name(r.solve.method)},
                        {"loop", name(r.solve.loop)},
                        {"iterations", r.solve.iterations},
                        {"iterations_per_second", r.iterations_per_second()},
                        {"unknowns_per_second", r.unknowns_per_second()}});
  json["comparison"] = comparison_json(row, baseline);
  if (row.solution)
    json["solution"] = {{"reason", name(row.solution->reason)},
                        {"iterations", row.solution->iterations},
                        {"set_up_seconds", r.seconds.set_up()},
                        {"loop_seconds", row.solution->seconds},
                        {"seconds", row.seconds_to_solution()},
                        {"relative_residual", row.solution->relative_residual},
                        {"history", residual_points(row.solution->history)}};
  json.erase("peak_memory_bytes");
  return json;
}

/// A value of a record as a field; empty if it is absent or null.
std::string field_of(const ordered_json& record, const char* pointer) {
  const ordered_json::json_pointer at(pointer);
  if (!record.contains(at)) return "";
  const ordered_json& value = record.at(at);
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()))) return "";
  const ordered_json text = ordered_json::parse(to_line(value));  // replaces invalid UTF-8
  return csv_field(text.is_string() ? text.get<std::string>() : to_line(text));
}

/// Columns of compare.csv and the places of their values in a record.
constexpr std::pair<const char*, const char*> columns[] = {
    {"case", "/case"},
    {"matrix", "/problem/matrix"},
    {"cell", "/problem/cell"},
    {"degree", "/problem/degree"},
    {"cells", "/problem/cells"},
    {"unknowns", "/problem/unknowns"},
    {"operator", "/operator/name"},
    {"options", "/operator/options"},
    {"chosen", "/operator/chosen"},
    {"precision", "/operator/precision"},
    {"device", "/operator/device"},
    {"preconditioner", "/solve/preconditioner"},
    {"right_hand_sides", "/comparison/right_hand_sides"},
    {"status", "/comparison/status"},
    {"reason", "/comparison/reason"},
    {"iterations_per_second", "/solve/iterations_per_second"},
    {"iterations_per_second_minimum", "/comparison/iterations_per_second_minimum"},
    {"iterations_per_second_maximum", "/comparison/iterations_per_second_maximum"},
    {"roof_iterations_per_second", "/comparison/roof_iterations_per_second"},
    {"unknowns_per_second", "/solve/unknowns_per_second"},
    {"product_median_seconds", "/apply/median_seconds"},
    {"product_minimum_seconds", "/apply/minimum_seconds"},
    {"product_maximum_seconds", "/apply/maximum_seconds"},
    {"gflops", "/apply/gflops"},
    {"effective_bandwidth", "/apply/effective_bandwidth"},
    {"minimum_bandwidth", "/apply/minimum_bandwidth"},
    {"caching_bandwidth", "/apply/caching_bandwidth"},
    {"bandwidth_fraction", "/apply/bandwidth_fraction"},
    {"copy_bandwidth", "/machine/copy_bandwidth"},
    {"link_bandwidth", "/machine/link_bandwidth"},
    {"link_rate", "/apply/link_rate"},
    {"nonzeros", "/operator/nonzeros"},
    {"stored_bytes", "/operator/stored_bytes"},
    {"moved_bytes", "/operator/moved_bytes"},
    {"link_bytes", "/operator/link_bytes"},
    {"flops", "/operator/flops"},
    {"padding_ratio", "/operator/padding_ratio"},
    {"data_reduction", "/operator/data_reduction"},
    {"assembly_seconds", "/seconds/assembly"},
    {"conversion_seconds", "/seconds/conversion"},
    {"preconditioner_seconds", "/seconds/preconditioner"},
    {"transfer_seconds", "/seconds/transfer"},
    {"iterations_to_solution", "/solution/iterations"},
    {"seconds_to_solution", "/solution/seconds"},
    {"break_even_iterations", "/comparison/break_even_iterations"},
    {"product_gain", "/comparison/product_gain"},
    {"iteration_gain", "/comparison/iteration_gain"},
    {"agreement", "/comparison/agreement"},
    {"processor", "/machine/processor"},
    {"threads", "/machine/threads"},
};

}  // namespace

ordered_json to_json(const std::vector<BenchmarkResult>& rows, const Baseline* baseline) {
  ordered_json json = ordered_json::array();
  for (const BenchmarkResult& row : rows) json.push_back(to_json(row, baseline));
  add_recommendations(json);
  add_times_to_solution(json);
  return json;
}

std::string to_csv(const ordered_json& records) {
  std::string text;
  for (const auto& [column, pointer] : columns) text += fmt::format("{}{}", text.empty() ? "" : ",", column);
  text += "\n";
  for (const ordered_json& record : records) {
    std::string line;
    for (const auto& [column, pointer] : columns)
      line += fmt::format("{}{}", column == columns[0].first ? "" : ",", field_of(record, pointer));
    text += line + "\n";
  }
  return text;
}

}  // namespace femcg::solver

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "solver/report/comparison_report.hpp"

namespace femcg::solver {

namespace {

using nlohmann::ordered_json;

/// True if a swept key's value is also elsewhere in a record, so that a comparison without this sweep has it too.
bool is_told_otherwise(const std::string& axis, const ordered_json& options) {
  constexpr std::array told{"degree", "quadrature", "refine", "cells", "cell", "dofs", "precision", "preconditioner"};
  const std::string last_word = axis.substr(axis.rfind('.') + 1);  // all of it where there is no dot
  return options.contains(axis) || std::ranges::find(told, last_word) != told.end();
}

/// Key of a measurement; equal keys are comparable: the problem, the operator with its options, the precision and the
/// device.
std::string key_of(const ordered_json& record) {
  const ordered_json& problem = record.at("problem");
  const ordered_json& op = record.at("operator");
  std::string key = fmt::format("{} {} {} {}", to_line(op.at("name")), to_line(op.at("options")),
                                to_line(op.at("precision")), to_line(op.at("device")));
  for (const char* part :
       {"matrix", "ordering", "cell", "cells", "degree", "geometric_order", "quadrature", "unknowns"})
    key += fmt::format(" {}", problem.contains(part) ? to_line(problem.at(part)) : "");
  for (const auto& [axis, value] : record.at("sweep").items())
    if (!is_told_otherwise(axis, op.at("options"))) key += fmt::format(" {}={}", axis, to_line(value));
  const ordered_json& solve = record.at("solve");
  // Older records say auto for jacobi.
  const ordered_json& preconditioner = solve.at("preconditioner");
  key += " " + (preconditioner == "auto" ? "\"jacobi\"" : to_line(preconditioner));
  // Older records have no options of preconditioners.
  if (const auto options = solve.find("preconditioner_options"); options != solve.end() && !options->empty())
    key += " " + to_line(*options);
  if (const auto several = record.at("comparison").find("right_hand_sides");
      several != record.at("comparison").end() && *several != 1)
    key += fmt::format(" {} right-hand sides", to_line(*several));
  return key;
}

}  // namespace

std::string_view name(Verdict verdict) {
  return verdict == Verdict::faster ? "faster" : verdict == Verdict::slower ? "slower" : "same";
}

Baseline::Baseline(const std::filesystem::path& file) : file_(file) {
  const ordered_json records = read_comparison(file);
  try {
    for (const ordered_json& record : records) {
      const ordered_json& comparison = record.at("comparison");
      if (comparison.at("status") != "timed") continue;
      const double median = record.at("solve").at("iterations_per_second");
      const ordered_json& apply = record.at("apply");
      const Times times =
          median > 0 ? Times{1 / comparison.at("iterations_per_second_maximum").get<double>(), 1 / median,
                             1 / comparison.at("iterations_per_second_minimum").get<double>()}
                     : Times{apply.at("minimum_seconds"), apply.at("median_seconds"), apply.at("maximum_seconds")};
      if (comparison.at("repetitions") < 2) continue;  // without repetitions there is no spread
      times_.insert_or_assign(key_of(record), times);
    }
  } catch (const ordered_json::exception&) {
    throw not_a_comparison(file);
  }
}

std::optional<Baseline::Change> Baseline::change(const BenchmarkResult& row) const {
  if (row.outcome != Outcome::timed || row.ranked().count() < 2) return std::nullopt;
  const auto found = times_.find(key_of(to_json({row}, nullptr).front()));
  if (found == times_.end()) return std::nullopt;
  const Times& old = found->second;
  const Samples& now = row.ranked();
  Change change{Verdict::same, old.median / now.median()};
  // Two runs of the same program differ by a few percent, however small the spread of each.
  constexpr double notable = 1.03;
  if (now.maximum() < old.fastest && change.ratio > notable) change.verdict = Verdict::faster;
  if (now.minimum() > old.slowest && change.ratio * notable < 1) change.verdict = Verdict::slower;
  return change;
}

}  // namespace femcg::solver

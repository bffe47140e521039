// Table of a study: a row per point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "solver/messages/sentence.hpp"
#include "solver/messages/units.hpp"
#include "solver/records/study_changes.hpp"
#include "solver/records/study_record.hpp"

namespace femcg::solver {

namespace {

struct Column {
  std::string title;
  std::vector<std::string> cells;  ///< one per point

  std::size_t width() const {
    std::size_t most = title.size();
    for (const std::string& cell : cells) most = std::max(most, cell.size());
    return most;
  }
};

/// All columns, most important first.
std::vector<Column> columns_of(const StudyRecord& study) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& title, const auto& text) {
    Column column{title, {}};
    for (std::size_t i = 0; i < study.points.size(); ++i) column.cells.push_back(text(i));
    if (std::ranges::any_of(column.cells, [](const std::string& cell) { return !cell.empty(); }))
      columns.push_back(std::move(column));
  };
  const auto add_of_record = [&](const std::string& title, const auto& text) {
    add(title, [&](std::size_t i) { return study.points[i].record ? std::string(text(*study.points[i].record)) : ""; });
  };
  constexpr std::size_t longest = 24;
  add("point", [](std::size_t i) { return std::to_string(i + 1); });
  for (const std::string& key : study.keys)
    add(key.substr(key.rfind('.') + 1),
        [&](std::size_t i) { return on_one_line(study.points[i].values.at(key), longest); });
  add_of_record("dofs", [](const Record& r) { return grouped(r.problem.dofs); });
  add_of_record("iterations", [](const Record& r) { return std::to_string(r.solve.iterations); });
  add("time", [&](std::size_t i) { return study.points[i].record ? duration(study.points[i].seconds) : ""; });
  const auto add_error = [&](const std::string& title, auto value) {
    add_of_record(title, [&](const Record& r) { return r.errors ? fmt::format("{:.3e}", value(*r.errors)) : ""; });
  };
  add_error("L2 error", [](const Errors& e) { return e.l2; });
  add("rate", [&](std::size_t i) {
    const auto rate = study.rate(i);
    return rate ? fmt::format("{:.2f}", rate->l2) : "";
  });
  add_error("H1 error", [](const Errors& e) { return e.h1; });
  add("rate", [&](std::size_t i) {
    const auto rate = study.rate(i);
    return rate ? fmt::format("{:.2f}", rate->h1) : "";
  });
  const auto add_quantity = [&](const std::string& title, auto value) {
    add_of_record(title,
                  [&](const Record& r) { return r.quantities ? fmt::format("{:.6g}", value(*r.quantities)) : ""; });
  };
  add_quantity("minimum", [](const Quantities& q) { return q.minimum; });
  add_quantity("maximum", [](const Quantities& q) { return q.maximum; });
  add_quantity("integral", [](const Quantities& q) { return q.integral; });
  add_of_record("operator", [](const Record& r) { return r.op.name; });
  return columns;
}

/// Changes of quantities from point to point: for each, as many of the last changes as fit.
std::string changes_text(const StudyRecord& study, std::size_t width) {
  const std::vector<QuantityChanges> all = changes_of(study);
  if (all.empty()) return "";
  constexpr std::size_t longest = 28, of_change = 11, of_others = 2 + 9 + 15 + 6 + 15;
  std::size_t names = 0, most = 1;
  const auto label = [&](const QuantityChanges& of) {
    return on_one_line(of.load.empty() ? of.name : of.load + ": " + of.name, longest);
  };
  for (const QuantityChanges& each : all) {
    names = std::max(names, label(each).size());
    most = std::max(most, each.values.size() - 1);
  }
  const std::size_t used = names + of_others;
  const std::size_t shown = std::clamp<std::size_t>((std::max(width, used) - used) / of_change, 1, most);
  std::string text =
      fmt::format("\n  {:<{}} {:>8} {:>14}{:>{}}{:>6} {:>14}\n", "changes", names, "points", "last value",
                  shown > 1 ? "from point to point" : "change", shown * of_change, "rate", "limit");
  for (const QuantityChanges& each : all) {
    std::string changes;
    const std::vector<double>& values = each.values;
    for (std::size_t i = std::max<std::size_t>(values.size(), shown + 1) - shown; i < values.size(); ++i)
      changes += fmt::format("{:>+{}.2e}", values[i] - values[i - 1], of_change);
    const auto number = [](double value, const char* form) {
      return std::isfinite(value) ? fmt::format(fmt::runtime(form), value) : std::string("-");
    };
    text += fmt::format("  {:<{}} {:>8} {:>14.9g}{:>{}}{:>6} {:>14}\n", label(each), names,
                        fmt::format("{}..{}", each.points.front() + 1, each.points.back() + 1), values.back(), changes,
                        shown * of_change, number(each.rates.empty() ? std::nan("") : each.rates.back(), "{:.2f}"),
                        number(each.limit, "{:.9g}"));
  }
  return text;
}

}  // namespace

std::string summary(const StudyRecord& study, std::size_t width) {
  std::vector<Column> columns = columns_of(study);
  const std::size_t needed = 1 + study.keys.size();
  std::size_t used = 0, shown = 0;
  while (shown < columns.size() && (shown < needed || used + 2 + columns[shown].width() <= width))
    used += 2 + columns[shown++].width();
  std::string text;
  const auto line = [&](const auto& cell_of, const std::string& end) {
    for (std::size_t c = 0; c < shown; ++c) text += fmt::format("  {:>{}}", cell_of(columns[c]), columns[c].width());
    text += end + "\n";
  };
  line([](const Column& column) { return column.title; }, "");
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const StudyPoint& point = study.points[i];
    line([&](const Column& column) { return column.cells[i]; },
         point.record && !point.converged() ? "  " + point.status() : "");
    if (!point.failure.empty()) text += fmt::format("    {}\n", point.failure);
    if (!point.record && point.failure.empty()) text += "    not begun\n";
  }
  text += changes_text(study, width);
  const auto solved = std::ranges::count_if(study.points, &StudyPoint::converged);
  text += fmt::format("  {} of {} points converged, {}; {}\n", solved, study.points.size(), duration(study.seconds),
                      study.directory);
  return text;
}

}  // namespace femcg::solver

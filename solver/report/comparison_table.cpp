// Table of a comparison for a terminal of 100 columns or more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "solver/messages/terminal.hpp"
#include "solver/messages/units.hpp"
#include "solver/report/comparison_report.hpp"
#include "solver/report/recommendation.hpp"

namespace femcg::solver {

namespace {

using Rows = std::vector<const BenchmarkResult*>;

/// Key of the table of a row: rows of the same problem, precision, device and number of right-hand sides share a table.
auto table_of(const BenchmarkResult& row) {
  const ProblemSize& p = row.record.problem;
  return std::tuple(p.degree, p.cells, p.unknowns, p.quadrature, row.record.precision, row.record.device,
                    row.right_hand_sides);
}

std::string label(const NamedChoice& choice) {
  std::string options;
  for (const auto& [option, value] : choice.options)
    options += fmt::format("{}{}={}", options.empty() ? "" : ",", option, value);
  return choice.name + (options.empty() ? "" : "[" + options + "]");
}
std::string label(const BenchmarkResult& row) { return label(row.record.op); }

std::string percent(double fraction) {
  return fraction < 9.995 ? fmt::format("{:.0f}%", 100 * fraction) : std::string(">999%");
}

/// Number with three digits in at most six characters, up to a million.
std::string short_number(double value) {
  if (value < 0.1) return fmt::format("{:.3f}", value);
  return value < 99.95 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", std::min(value, 999999.0));
}

/// Ratio in at most four characters.
std::string short_ratio(double ratio) {
  return ratio < 9.995 ? fmt::format("{:.2f}", ratio) : ratio < 9999 ? fmt::format("{:.0f}", ratio) : ">1e4";
}

std::string short_duration(double seconds) {
  if (seconds < 120) return duration(seconds);
  return seconds < 3600 ? fmt::format("{:.1f} min", seconds / 60) : short_number(seconds / 3600) + " h";
}

const std::size_t widest = std::max<std::size_t>(100, terminal_width());  // the tables need 100

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }  // of UTF-8

/// Bytes of the first `width` characters, or of the whole text.
std::size_t prefix_of_width(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes)
    if (begins_character(text[bytes]) && width-- == 0) break;
  return bytes;
}

/// Wraps text at the width of the terminal, at least 100 columns, at the last blank before the edge; continuation lines
/// are indented.
std::string wrapped(std::string_view text) {
  constexpr std::string_view indent = "      ";
  std::string lines;
  for (std::size_t width = widest; prefix_of_width(text, width) < text.size(); width = widest - indent.size()) {
    const std::size_t edge = prefix_of_width(text, width + 1);
    const std::size_t blank = text.substr(0, edge).rfind(' ');
    const bool at_blank = blank != std::string_view::npos && blank > indent.size();
    const std::size_t end = at_blank ? blank : prefix_of_width(text, width);
    lines += fmt::format("{}\n{}", text.substr(0, end), indent);
    text.remove_prefix(at_blank ? end + 1 : end);
  }
  return fmt::format("{}{}\n", lines, text);
}

/// Swept keys that the rest of the heading does not show.
std::string swept(const BenchmarkResult& row) {
  constexpr std::array shown{"degree", "precision", "cells", "cell", "dofs", "refine"};
  std::string text;
  for (const auto& [key, value] : row.sweep) {
    const bool is_shown =
        row.record.op.options.contains(key) || std::ranges::find(shown, key.substr(key.rfind('.') + 1)) != shown.end();
    if (!is_shown) text += fmt::format(", {} {}", key, value);
  }
  return text;
}

std::string sides(const BenchmarkResult& row) {
  return row.right_hand_sides > 1 ? fmt::format(", {} right-hand sides at once", row.right_hand_sides) : "";
}

std::string heading(const BenchmarkResult& row) {
  const Record& r = row.record;
  std::string what;
  if (row.source)
    what = fmt::format("{}, {} x {}, {}", row.source->name, grouped(r.problem.unknowns), grouped(r.problem.unknowns),
                       row.source->symmetric ? "symmetric" : "not symmetric");
  else
    what = fmt::format("{} {} of degree {}, {} unknowns", grouped(r.problem.cells), plural(r.problem.shape),
                       r.problem.degree, grouped(r.problem.unknowns));
  std::string copies;
  if (r.machine.copy_bandwidth > 0) copies = fmt::format(", copies {}", scaled(r.machine.copy_bandwidth, "B/s"));
  return wrapped(fmt::format("{}; {} precision, {}{}{}{}", what, name(r.precision), name(r.device), swept(row),
                             sides(row), copies));
}

std::string degree(const BenchmarkResult& row) {
  return row.source ? "" : fmt::format("degree {}, ", row.record.problem.degree);
}

/// Statistics of the rows of the assembled matrix, as text.
std::string filling(const Rows& rows) {
  const auto found = std::ranges::find_if(rows, [](const BenchmarkResult* row) { return row->matrix != nullptr; });
  if (found == rows.end()) return "";
  const operators::MatrixStatistics& s = *(*found)->matrix;
  std::string before;
  if (const auto& source = (*found)->source; source && source->bandwidth_before)
    before = fmt::format(" ({} before reordering)", grouped(*source->bandwidth_before));
  return wrapped(fmt::format("{} nonzeros, rows of {} to {} (mean {:.1f}, deviation {:.1f}), bandwidth {}{}",
                             grouped((*found)->record.footprint.nonzeros), s.shortest_row, s.longest_row, s.mean_row,
                             s.row_deviation, grouped(s.bandwidth), before));
}

constexpr std::size_t name_width = 17;
constexpr std::string_view row_format = "  {:<17} {:>10} {:>6} {:>7} {:>8} {:>6} {:>7} {:>8} {:>4} {:>8} {:>7}\n";

/// Titles of the columns. With several right-hand sides, rates are summed over them, and the last columns show the
/// speed-up over a single one instead of quantities that do not depend on their number.
std::string column_titles(const BenchmarkResult& row) {
  const bool several = row.right_hand_sides > 1;
  return fmt::format(fmt::runtime(row_format), "operator", row.iteration.empty() ? "products/s" : "CG it/s", "+-",
                     "of roof", "product", "GB/s", "of copy", "stored", "pad", several ? "gain" : "set-up",
                     several ? "in CG" : "pays at");
}

std::string gain(const std::optional<double>& ratio) { return ratio ? short_ratio(*ratio) : "-"; }

std::string numbers(const BenchmarkResult& row) {
  const Record& r = row.record;
  const Samples& ranked = row.ranked();
  const double rate = row.rate();
  const double spread = (ranked.maximum() - ranked.minimum()) / 2 / ranked.median();
  std::string name = label(row), own_line;
  if (name.size() > name_width) {
    own_line = wrapped("  " + name);
    name.clear();
  }
  const bool several = row.right_hand_sides > 1;
  return own_line +
         fmt::format(fmt::runtime(row_format), name, fmt::format("{:.4g}", rate), percent(spread),
                     row.roof() > 0 ? percent(rate / row.roof()) : "-", short_duration(r.apply.median()),
                     short_number(1e-9 * r.minimum_bandwidth()),
                     r.machine.copy_bandwidth > 0 ? percent(r.bandwidth_fraction()) : "-",
                     scaled(static_cast<double>(r.footprint.stored_bytes), "B"), short_ratio(r.footprint.padding_ratio),
                     several ? gain(row.product_gain) : short_duration(r.seconds.assembly + r.seconds.conversion),
                     several          ? gain(row.iteration_gain)
                     : row.break_even ? short_number(*row.break_even)
                                      : "-");
}

/// Note on the rows with unreliable times.
std::string refused(const Rows& timed) {
  std::string names;
  for (const BenchmarkResult* row : timed)
    if (std::ranges::find(row->record.warnings, refused_time) != row->record.warnings.end())
      names += (names.empty() ? "" : ", ") + label(*row);
  return names.empty() ? "" : wrapped(fmt::format("  (less than half of the processor time asked for: {})", names));
}

/// Choice of auto, and its time relative to the best.
std::string automatic(const Rows& timed) {
  const auto found = std::ranges::find_if(timed, [](const BenchmarkResult* row) { return row->automatic.has_value(); });
  if (found == timed.end()) return "";
  const AutomaticChoice& choice = *(*found)->automatic;
  const std::string until = choice.of_solution
                                ? fmt::format("to a solution in {:.0f} iterations, set-up included", choice.iterations)
                                : std::string("by product");
  const std::string outcome = choice.regret <= 0 ? "the fastest"
                              : ties_with_best(**found, timed)
                                  ? "which ties with " + choice.best
                                  : fmt::format("{:.1f}% behind {}", 100 * choice.regret, choice.best);
  return wrapped(fmt::format("  auto takes {}, {} {}: {}", label(**found), outcome, until, choice.why));
}

std::string one_table(Rows rows) {
  const auto timed_end = std::stable_partition(
      rows.begin(), rows.end(), [](const BenchmarkResult* row) { return row->outcome == Outcome::timed; });
  std::stable_sort(rows.begin(), timed_end, [](const BenchmarkResult* a, const BenchmarkResult* b) {
    return a->ranked().median() < b->ranked().median();
  });
  std::string text = heading(*rows.front()) + filling(rows);
  if (timed_end != rows.begin()) text += column_titles(*rows.front());
  for (auto row = rows.begin(); row != timed_end; ++row) text += numbers(**row);
  constexpr double clearly_above = 1.05;
  if (std::any_of(rows.begin(), timed_end,
                  [](const BenchmarkResult* row) { return row->record.bandwidth_fraction() > clearly_above; }))
    text += "  (above 100% of the copies: the data come from caches)\n";
  for (auto row = rows.begin(); row != timed_end; ++row)
    if ((*row)->record.footprint.link_bytes > 0)
      text += wrapped(fmt::format("  ({}: {})", label(**row), streaming((*row)->record)));
  if (const std::string advice = recommendation({rows.begin(), timed_end}); !advice.empty())
    text += wrapped("  " + advice);
  if (const std::string times = times_to_solution({rows.begin(), timed_end}); !times.empty())
    text += wrapped("  " + times);
  text += automatic({rows.begin(), timed_end});
  text += refused({rows.begin(), timed_end});
  for (auto row = timed_end; row != rows.end(); ++row)
    text += wrapped(fmt::format("  {:<{}} {}: {}", label(**row), name_width, name((*row)->outcome), (*row)->reason));
  return text;
}

/// Rows of each table, in their order.
std::vector<Rows> tables_of(const std::vector<BenchmarkResult>& rows) {
  std::vector<Rows> tables;
  for (const BenchmarkResult& row : rows) {
    const auto found =
        std::ranges::find_if(tables, [&](const Rows& other) { return table_of(*other.front()) == table_of(row); });
    if (found != tables.end())
      found->push_back(&row);
    else
      tables.push_back({&row});
  }
  return tables;
}

}  // namespace

std::string opening(const Record& record) {
  return wrapped(fmt::format("{}{}, {} thread{}", record.command == "matrix" ? "" : record.title + "; ",
                             record.machine.processor, record.machine.threads, record.machine.threads == 1 ? "" : "s"));
}

std::string table(const std::vector<BenchmarkResult>& rows) {
  std::string text;
  for (const Rows& each : tables_of(rows)) text += (text.empty() ? "" : "\n") + one_table(each);
  return text;
}

std::string solutions_table(const std::vector<BenchmarkResult>& rows) {
  constexpr std::string_view format = "  {:<17} {:<17} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9}\n";
  std::string text;
  for (Rows& all : tables_of(rows)) {
    std::erase_if(all, [](const BenchmarkResult* row) { return !row->solution; });
    if (all.empty()) continue;
    std::ranges::stable_sort(all, {}, [](const BenchmarkResult* row) {
      return std::pair(row->solution->reason != StopReason::converged, row->seconds_to_solution());
    });
    const Record& r = all.front()->record;
    text +=
        wrapped(fmt::format("\ntime to solution: {}{} unknowns, {} precision, {}; set-up of operator and "
                            "preconditioner, and the loop to the tolerance, once",
                            degree(*all.front()), grouped(r.problem.unknowns), name(r.precision), name(r.device)));
    text += fmt::format(fmt::runtime(format), "preconditioner", "operator", "iterations", "operator", "precond.",
                        "loop", "total", "to best");
    for (const BenchmarkResult* row : all) {
      const Seconds& s = row->record.seconds;
      const bool converged = row->solution->reason == StopReason::converged;
      std::string preconditioner = label(row->record.preconditioner), op = label(*row);
      if (!row->record.why_preconditioner.empty()) preconditioner += " (auto)";
      if (std::max(preconditioner.size(), op.size()) > name_width) {
        text += wrapped(fmt::format("  {} with {}", preconditioner, op));
        preconditioner = op = "";
      }
      text +=
          fmt::format(fmt::runtime(format), preconditioner, op, row->solution->iterations,
                      short_duration(s.assembly + s.conversion), short_duration(s.preconditioner),
                      short_duration(row->solution->seconds), short_duration(row->seconds_to_solution()),
                      converged ? short_ratio(row->seconds_to_solution() / all.front()->seconds_to_solution()) : "-");
      if (!converged) text += fmt::format("    (not solved: {})\n", name(row->solution->reason));
    }
  }
  return text;
}

std::string changes(const std::vector<BenchmarkResult>& rows, const Baseline& baseline) {
  std::string text;
  int same = 0, unknown = 0;
  for (const BenchmarkResult& row : rows) {
    const auto change = baseline.change(row);
    unknown += row.outcome == Outcome::timed && !change ? 1 : 0;
    same += change && change->verdict == Verdict::same ? 1 : 0;
    if (change && change->verdict != Verdict::same)
      text +=
          wrapped(fmt::format("  {:<{}} {}{} precision, {}, {} unknowns{}: {} ({:.2f} times as fast)", label(row),
                              name_width, degree(row), name(row.record.precision), name(row.record.device),
                              grouped(row.record.problem.unknowns), sides(row), name(change->verdict), change->ratio));
  }
  std::string counts = fmt::format("{} unchanged within the spread and 3%", same);
  if (unknown > 0) counts += fmt::format(", {} not measured there", unknown);
  return wrapped(fmt::format("against {}: {}", baseline.file().string(), counts)) + text;
}

}  // namespace femcg::solver

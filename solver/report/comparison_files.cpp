#include "solver/report/comparison_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mesh/base/atomic_file.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/problem/results_folder.hpp"
#include "solver/report/report_page.hpp"

namespace femcg::solver {

ComparisonFiles::ComparisonFiles(std::filesystem::path directory, const std::optional<Baseline>& baseline,
                                 const Console& console, bool reports)
    : directory_(std::move(directory)), baseline_(&baseline), console_(console), reports_(reports) {
  if (reports_) prepare_directory(directory_, {"compare.csv", "report.html", "compare.json"});
}

void ComparisonFiles::note(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    if (reports_ && noted_.insert(warning).second) print_note(warning);
}

void ComparisonFiles::add(std::vector<BenchmarkResult> rows) {
  if (!reports_) {
    std::ranges::move(rows, std::back_inserter(rows_));
    return;
  }
  const bool first = rows_.empty() && !rows.empty();
  const auto show = [&, opening = first ? opening(rows.front().record) : "\n", table = table(rows)] {
    if (!console_.quiet) print(fmt::format("{}{}", opening, table));
    std::fflush(stdout);
  };
  std::vector<std::string> warnings;
  for (const BenchmarkResult& row : rows) std::ranges::copy(row.record.warnings, std::back_inserter(warnings));
  std::ranges::move(rows, std::back_inserter(rows_));
  // Writes the files first, since the terminal may be closed. If they cannot be written, prints at least the table.
  try {
    write();
  } catch (...) {
    show();
    throw;
  }
  note(warnings);
  show();
}

void ComparisonFiles::write() const {
  const nlohmann::ordered_json json = to_json(rows_, *baseline_ ? &**baseline_ : nullptr);
  const std::string records = to_lines(json);
  mesh::FileGroup files(directory_);
  files.add("compare.csv", to_csv(json));
  if (has_report_page())
    files.add("report.html", report_page(records));
  else
    files.leave_out("report.html");
  files.add("compare.json", records);
  files.put_in_place();
}

namespace {

/// One sentence per failed row, each once, if all failures are refusals; else empty.
std::vector<std::string> refusals(const std::vector<BenchmarkResult>& rows) {
  std::vector<std::string> sentences;
  for (const BenchmarkResult& row : rows) {
    if (row.outcome != Outcome::failed) continue;
    if (!row.refused) return {};
    std::string sentence = at_place(row.record.op.place, row.reason);
    if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace

void ComparisonFiles::say_where(bool interrupted) const {
  if (!console_.quiet) {
    print(solutions_table(rows_));
    if (*baseline_) print(fmt::format("\n{}", changes(rows_, **baseline_)));
    if (!rows_.empty())
      print(fmt::format("\nresults in {}: compare.json, compare.csv{}\n", directory_.string(),
                        has_report_page() ? ", report.html" : ""));
  }
  if (!has_report_page()) print_note(fmt::format("no report.html was written: {}", report_page_stub()));
  if (interrupted) print_note("interrupted; the results hold what was measured until then");
}

ExitStatus ComparisonFiles::finish(bool interrupted) const {
  const auto any = [&](Outcome outcome) {
    return std::ranges::any_of(rows_, [&](const BenchmarkResult& row) { return row.outcome == outcome; });
  };
  if (reports_) say_where(interrupted);
  if (interrupted || any(Outcome::disagrees)) return ExitStatus::not_converged;
  if (any(Outcome::timed)) return ExitStatus::done;
  if (auto sentences = refusals(rows_); !sentences.empty()) throw InputError(std::move(sentences));
  return ExitStatus::machine_failed;
}

}  // namespace femcg::solver

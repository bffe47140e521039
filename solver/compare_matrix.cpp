#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "operators/sparse/io/matrix_market.hpp"
#include "operators/sparse/io/matrix_statistics.hpp"
#include "operators/sparse/io/reorder.hpp"
#include "solver/benchmark/entries.hpp"
#include "solver/compare.hpp"
#include "solver/compare_auto.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/setup.hpp"
#include "solver/report/comparison_files.hpp"

namespace femcg::solver {

operators::CsrMatrix<double> read_matrix(const std::filesystem::path& file) try {
  return operators::read_matrix_market(file).matrix;
} catch (const operators::MatrixMarketError& error) {
  throw InputError(fmt::format("{}:{}{}", file.string(), error.line() > 0 ? "" : " ", error.what()));
}

namespace {

/// b = A times ones, so that ones solve A x = b.
std::vector<double> row_sums(const operators::CsrMatrix<double>& matrix) {
  std::vector<double> sums(static_cast<std::size_t>(matrix.rows));
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) sums[row] += matrix.values[k];
  return sums;
}

std::string why_no_cg(const operators::MatrixStatistics& matrix, const std::vector<double>& load) {
  if (!matrix.symmetric_to_rounding()) return "the matrix is not symmetric";
  if (!matrix.positive_diagonal()) return "its diagonal is not positive throughout";
  const auto zero = [](double value) { return value == 0; };
  if (std::ranges::all_of(load, zero)) return "A times ones, the right-hand side, is zero";
  return "";
}

}  // namespace

ExitStatus compare_matrix(const MatrixChoice& choice, const std::optional<Baseline>& baseline, const Console& console,
                          const StopRequested& stop) {
  Progress progress(console.progress);
  const std::vector<BenchmarkEntry> entries =
      choose_entries({expand_operators(choice.compare), choice.compare.all_operators, choice.compare.devices, true});
  progress.step("reading " + choice.file.filename().string());
  Record common;
  common.command = "matrix";
  common.case_file = choice.file.string();
  common.title = choice.file.filename().string();
  common.started = timestamp();
  common.machine = this_machine();
  auto matrix = timed(common.seconds.mesh, [&] { return read_matrix(choice.file); });
  auto source = std::make_shared<MatrixSource>();
  source->name = choice.file.filename().string();
  if (choice.reorder) {
    progress.step("reordering");
    source->ordering = "reverse-cuthill-mckee";
    source->bandwidth_before = operators::statistics(matrix).bandwidth;
    matrix = timed(common.seconds.space,
                   [&] { return operators::permute(matrix, operators::reverse_cuthill_mckee(matrix)); });
  }
  const operators::MatrixStatistics statistics = operators::statistics(matrix);
  source->symmetric = statistics.symmetric_to_rounding();
  common.problem.unknowns = matrix.rows;
  const std::vector<double> load = row_sums(matrix);
  const std::string no_cg = why_no_cg(statistics, load);

  System system;
  system.matrix = std::make_shared<const operators::CsrMatrix<double>>(std::move(matrix));
  system.load = no_cg.empty() ? &load : nullptr;
  system.source = source;
  ComparisonFiles files(choice.directory, baseline, console);
  if (!no_cg.empty()) {
    progress.clear();
    fmt::print(stderr, "note: products only, no CG: {}\n", no_cg);
  }
  const TimeLeft time_left(std::vector(choice.precisions.size(), 1.0));
  for (std::size_t i = 0; i < choice.precisions.size() && !stop(); ++i) {
    const Precision precision = choice.precisions[i];
    const ComparisonSettings settings{
        precision,
        choice.compare.iterations,
        choice.compare.repetitions,
        choice.compare.right_hand_sides,
        [&](double done, const std::string& next) {
          progress.step(fmt::format("{}{} precision, {}", time_left.text(i, done), name(precision), next));
          return !stop();
        },
        stop};
    std::vector<BenchmarkResult> rows = compare_operators(system, entries, settings, common);
    add_predictions(rows, system, precision, expected_iterations(system.unknowns(), SolverChoice().max_iterations));
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish(stop());
}

}  // namespace femcg::solver

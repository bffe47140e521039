#include <fmt/format.h>

#include <memory>
#include <utility>

#include "solver/benchmark/entries.hpp"
#include "solver/compare/compare.hpp"
#include "solver/compare/compare_auto.hpp"
#include "solver/compare/matrix_input.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/sentence.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/report/comparison_files.hpp"

namespace femcg::solver {

ExitStatus compare_matrix(const MatrixChoice& choice, const std::optional<Baseline>& baseline, const Console& console,
                          const StopRequested& stop) {
  Progress progress(console.progress);
  const std::vector<BenchmarkEntry> entries =
      choose_entries({expand_operators(choice.compare), choice.compare.all_operators, choice.compare.devices, true});
  MatrixInput input = read_matrix_input(choice, progress);
  const std::string& no_cg = input.why_no_cg;

  System system;
  system.matrix = std::make_shared<const operators::CsrMatrix<double>>(std::move(input.matrix));
  if (no_cg.empty()) system.load = input.load;
  system.source = input.source;
  ComparisonFiles files(choice.directory, baseline, console);
  if (!no_cg.empty()) {
    progress.clear();
    fmt::print(stderr, "{}", products_only(no_cg));
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
    std::vector<BenchmarkResult> rows = compare_operators(system, entries, settings, input.common);
    add_predictions(rows, system, precision, expected_iterations(system.unknowns(), SolverChoice().max_iterations));
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish(stop());
}

}  // namespace femcg::solver

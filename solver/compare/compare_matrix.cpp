#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "operators/distributed/maps/matrix_subdomain.hpp"
#include "operators/stored/io/number_range.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/compare/compare.hpp"
#include "solver/compare/compare_auto.hpp"
#include "solver/compare/compare_entries.hpp"
#include "solver/compare/distributed_testbed.hpp"
#include "solver/compare/matrix_input.hpp"
#include "solver/messages/do_on_all.hpp"
#include "solver/messages/progress.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/problem/scaled_load.hpp"
#include "solver/report/comparison_files.hpp"
#include "solver/run/distributed_setup.hpp"

namespace femcg::solver {

using operators::Communicator;

namespace {

/// Matrix of a comparison: the whole, or the rows of this process.
class ComparedMatrix {
 public:
  /// Collective. The communicator must outlive this object.
  ComparedMatrix(const MatrixChoice& choice, const ComparedDevices& devices, const Communicator& communicator,
                 Progress& progress);
  ComparedMatrix(const ComparedMatrix&) = delete;
  ComparedMatrix& operator=(const ComparedMatrix&) = delete;

  const Record& common() const { return common_; }
  const std::string& why_no_cg() const { return why_no_cg_; }
  /// `preconditioner`: empty if nothing is solved.
  std::vector<BenchmarkResult> compare(const std::vector<BenchmarkEntry>& entries, const ComparisonSettings& settings,
                                       const std::string& preconditioner) const;

 private:
  void take(MatrixInput input);
  void divide(const MatrixChoice& choice, const ComparedDevices& devices, Progress& progress);

  const Communicator& communicator_;
  System system_;
  std::vector<double> load_;  ///< empty without CG
  std::string why_no_cg_;
  Record common_;
  operators::MatrixSubdomain share_;    ///< of several processes
  std::optional<Subdomain> subdomain_;  ///< of several processes
};

ComparedMatrix::ComparedMatrix(const MatrixChoice& choice, const ComparedDevices& devices,
                               const Communicator& communicator, Progress& progress)
    : communicator_(communicator) {
  if (communicator.size() == 1)
    take(read_matrix_input(choice, progress));
  else
    divide(choice, devices, progress);
  if (why_no_cg_.empty()) system_.load = load_;
}

void ComparedMatrix::take(MatrixInput input) {
  system_.matrix = std::make_shared<const operators::CsrMatrix<double>>(std::move(input.matrix));
  system_.source = std::move(input.source);
  load_ = std::move(input.load);
  why_no_cg_ = std::move(input.why_no_cg);
  common_ = std::move(input.common);
}

/// Distributes the rows of the matrix, which the first process reads.
void ComparedMatrix::divide(const MatrixChoice& choice, const ComparedDevices& devices, Progress& progress) {
  MatrixInput input;
  mesh::Array<double> whole_load;
  std::string why_not_single;
  do_on_all(communicator_, [&] {
    if (!communicator_.is_first()) return;
    input = read_matrix_input(choice, progress);
    if (input.why_no_cg.empty()) whole_load = scaled_load(input.load).values();
    if (std::ranges::find(choice.precisions, Precision::single) != choice.precisions.end())
      why_not_single = operators::why_not_single(input.matrix);
  });
  progress.step("dividing the rows");
  common_ = std::move(input.common);
  if (!communicator_.is_first()) common_.machine = this_machine();
  system_.source = input.source;
  why_no_cg_ = input.why_no_cg;
  communicator_.broadcast_all(why_no_cg_, 0);
  communicator_.broadcast_all(why_not_single, 0);
  communicator_.broadcast_all(whole_load, 0);
  const operators::RowBlock block = operators::divide_rows(communicator_, input.matrix);
  common_.problem.unknowns = block.firsts.back();
  share_ = subdomain_of(communicator_, block);
  if (why_no_cg_.empty())
    for (const std::int64_t number : share_.map.numbers) load_.push_back(whole_load[static_cast<std::size_t>(number)]);
  subdomain_.emplace(Subdomain{
      .division = {communicator_, share_, std::string(partition_of_rows), true, block.rows.rows, share_.interface_rows},
      .matrix = &share_,
      .cores_to_spare = note_processes(devices, {}, communicator_, common_.warnings),
      .statistics = input.statistics,
      .why_not_single = why_not_single});
}

std::vector<BenchmarkResult> ComparedMatrix::compare(const std::vector<BenchmarkEntry>& entries,
                                                     const ComparisonSettings& settings,
                                                     const std::string& preconditioner) const {
  System system = system_;
  if (!preconditioner.empty()) {
    system.preconditioner.name = preconditioner;
    system.solves = SolveLimits{SolverChoice().tolerance, SolverChoice().max_iterations};
  }
  std::vector<BenchmarkResult> rows = subdomain_ ? compare_operators(system, *subdomain_, entries, settings, common_)
                                                 : compare_operators(system, entries, settings, common_);
  if (!preconditioner.empty())
    for (BenchmarkResult& row : rows) row.sweep["preconditioner"] = preconditioner;
  add_predictions(rows, system, settings.precision,
                  expected_iterations(common_.problem.unknowns, SolverChoice().max_iterations));
  return rows;
}

/// Text of all options that determine a comparison.
std::string text_of(const MatrixChoice& choice) {
  Case asked;
  asked.compare = choice.compare;
  std::string text = fmt::format("{} {}\n{}", choice.file.string(), choice.reorder, to_yaml(asked));
  for (const Precision precision : choice.precisions) text += name(precision);
  for (const std::string& preconditioner : choice.preconditioners) text += " " + preconditioner;
  return text;
}

}  // namespace

ExitStatus compare_matrix(const MatrixChoice& choice, const std::optional<Baseline>& baseline, const Console& console,
                          const StopRequested& stop, const Communicator& communicator) {
  const bool first = communicator.is_first();
  Progress progress(console.progress && first);
  if (communicator.size() > 1) require_same("matrix, or other options,", text_of(choice), communicator);
  const ComparedDevices devices = compared_devices(choice.compare, {}, communicator);
  const std::vector<BenchmarkEntry> entries = choose_entries(choice.compare, devices, true);
  const ComparedMatrix matrix(choice, devices, communicator, progress);
  ComparisonFiles files(choice.directory, baseline, console, first);
  progress.clear();
  files.note(matrix.common().warnings);
  if (first && !matrix.why_no_cg().empty()) fmt::print(stderr, "{}", products_only(matrix.why_no_cg()));
  std::vector<std::pair<Precision, std::string>> points;
  for (const Precision precision : choice.precisions) {
    for (const std::string& preconditioner : choice.preconditioners) points.emplace_back(precision, preconditioner);
    if (choice.preconditioners.empty()) points.emplace_back(precision, "");
  }
  const TimeLeft time_left(std::vector(points.size(), 1.0));
  const auto stopped = [&] { return communicator.sum(stop() ? 1.0 : 0.0) > 0; };
  for (std::size_t i = 0; i < points.size() && !stopped(); ++i) {
    const auto& [precision, preconditioner] = points[i];
    const ComparisonSettings settings{
        precision,
        choice.compare.iterations,
        choice.compare.repetitions,
        choice.compare.right_hand_sides,
        [&, i, precision = precision](double done, const std::string& next) {
          progress.step(fmt::format("{}{} precision, {}", time_left.text(i, done), name(precision), next));
          return !stop();
        },
        stop};
    std::vector<BenchmarkResult> rows = matrix.compare(entries, settings, preconditioner);
    progress.clear();
    files.add(std::move(rows));
  }
  progress.clear();
  return files.finish(stopped());
}

}  // namespace femcg::solver

#include "solver/run/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "mesh/base/atomic_file.hpp"
#include "operators/backend/multi_vector.hpp"
#include "solver/messages/progress.hpp"
#include "solver/messages/refusal.hpp"
#include "solver/messages/terminal.hpp"
#include "solver/problem/results_folder.hpp"
#include "solver/records/study_record.hpp"
#include "solver/report/run_page.hpp"
#include "solver/run/distributed_setup.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

namespace {

using Clock = std::chrono::steady_clock;

/// Text of a case without its load: cases with equal text differ in the load only.
std::string common_key(const Case& resolved) {
  Case of;
  of.solver = resolved.solver;
  of.output = resolved.output;
  return operator_key(resolved) + to_yaml(of);
}

/// True if a case can be one load of several: it has no loads, initial guess, exact solution or files of its own.
bool may_join(const Case& resolved) {
  return resolved.problem.loads.empty() && !resolved.problem.exact && resolved.solver.initial.empty() &&
         !resolved.output.points;
}

/// One past the last of the points from `first` on that can be solved at once with it.
std::size_t end_of_group(const std::vector<SweepPoint>& points, std::size_t first) {
  constexpr std::size_t most = operators::MultiVector<double>::most;
  std::size_t end = first + 1;
  if (!may_join(points[first].resolved)) return end;
  const std::string key = common_key(points[first].resolved);
  while (end < points.size() && end - first < most && may_join(points[end].resolved) &&
         common_key(points[end].resolved) == key)
    ++end;
  return end;
}

/// The first case with the loads of all points.
Case joined(const std::vector<SweepPoint>& points, std::size_t first, std::size_t end) {
  Case all = points[first].resolved;
  for (std::size_t i = first; i < end; ++i) {
    const ProblemData& problem = points[i].resolved.problem;
    all.problem.loads.push_back({std::to_string(i + 1), problem.source, problem.boundary});
  }
  all.output.vtu = false;
  return all;
}

class Study {
 public:
  Study(const Case& base, const std::vector<SweepPoint>& points, const Console& console, const StopRequested& stop,
        const operators::Communicator& processes)
      : base_(base), points_(points), console_(console), stop_(stop), processes_(processes) {
    require_same("case", to_yaml(base), processes);
    console_.progress = console.progress && processes.is_first();
    kept_.operators = true;
    record_.common = begun_run(base);
    record_.keys = study_keys(base);
    record_.directory = base.output.directory.string();
    for (const SweepPoint& point : points) record_.points.emplace_back().values = point.values;
  }

  ExitStatus run() {
    if (processes_.is_first())
      prepare_directory(base_.output.directory, {"case.yaml", "study.csv", "result.html", "run.log", "result.json"});
    for (std::size_t first = 0; first < points_.size() && !is_stopped();) {
      const std::size_t end = end_of_group(points_, first);
      if (end - first == 1 || !solve_together(first, end))
        for (std::size_t i = first; i < end && !is_stopped(); ++i) solve_alone(i);
      first = end;
    }
    record_.seconds = since(begin_);
    return finish();
  }

 private:
  static double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

  /// True if the user asked to stop; the same on all processes.
  bool is_stopped() const { return processes_.sum(stop_() ? 1.0 : 0.0) > 0; }
  /// Rethrows if a point failed on only some processes, since the others cannot continue.
  void require_failure_of_all() const {
    if (!processes_.all_fail()) throw;
  }

  std::string before(std::size_t i) const { return fmt::format("point {} of {}: ", i + 1, points_.size()); }

  /// Solves points at once. False if they must be solved one by one, so that an error in one of them does not affect
  /// the others.
  bool solve_together(std::size_t first, std::size_t end) {
    const Clock::time_point begin = Clock::now();
    const auto count = static_cast<int>(end - first);
    Record all;
    try {
      Progress progress(console_.progress, begin,
                        fmt::format("points {} to {} of {}: ", first + 1, end, points_.size()));
      all = run_case(joined(points_, first, end), kept_, false, {processes_, progress, stop_});
    } catch (const std::exception&) {
      require_failure_of_all();
      give_back();
      return false;
    }
    for (std::size_t i = first; i < end; ++i) {
      StudyPoint& point = record_.points[i];
      point.seconds = since(begin) / count;
      point.together = count;
      const LoadRecord& load = all.loads[i - first];
      if (!load.begun) continue;
      Record& own = point.record.emplace(all);
      own.solve = load.solve;
      own.quantities = load.quantities;
      own.loads.clear();
    }
    note_machine(all);
    return true;
  }

  void solve_alone(std::size_t i) {
    const Clock::time_point begin = Clock::now();
    StudyPoint& point = record_.points[i];
    Case resolved = points_[i].resolved;
    if (resolved.output.points) {
      resolved.output.directory = base_.output.directory / "points" / std::to_string(i + 1);
      point.directory = resolved.output.directory.string();
    } else {
      resolved.output.vtu = false;
    }
    try {
      Progress progress(console_.progress, begin, before(i));
      point.record = run_case(resolved, kept_, resolved.output.points, {processes_, progress, stop_});
      note_machine(*point.record);
    } catch (const std::exception& error) {
      require_failure_of_all();
      point.failure = reason_of(error);
      std::ranges::replace(point.failure, '\n', ' ');
      give_back();
    }
    point.seconds = since(begin);
  }

  /// Frees the operators and the mesh of a failed point, which may have run out of memory.
  void give_back() {
    const bool operators = kept_.operators;
    kept_.made.reset();
    kept_.discrete.reset();
    kept_ = {};
    kept_.operators = operators;
  }

  void note_machine(const Record& of) {
    const auto load = record_.common.machine.load;
    record_.common.machine = of.machine;
    record_.common.machine.load = load;
    record_.common.peak_memory_bytes = of.peak_memory_bytes;
  }

  ExitStatus finish() {
    if (processes_.is_first()) write();
    processes_.sum(0.0);  // barrier: all files are written
    return std::ranges::all_of(record_.points, &StudyPoint::converged) ? ExitStatus::done : ExitStatus::not_converged;
  }

  void write() {
    const std::string text = printable(
        fmt::format("{}\n{}", base_.title.empty() ? base_.name : base_.title, summary(record_, terminal_width())));
    mesh::FileGroup files(base_.output.directory);
    files.add("case.yaml", to_yaml(base_));
    files.add("study.csv", study_csv(record_));
    files.add("run.log", text);
    for (const char* of_one_run : {"residuals.csv", "solution.vtu", "boundary.vtu"}) files.leave_out(of_one_run);
    leave_out_page(files);
    files.add("result.json", to_text(to_json(record_)));
    files.put_in_place();
    write_study_page(record_);
    if (!console_.quiet) print(text);
  }

  const Case& base_;
  const std::vector<SweepPoint>& points_;
  Console console_;
  const StopRequested& stop_;
  const operators::Communicator& processes_;
  CachedParts kept_;
  StudyRecord record_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

ExitStatus run_study(const Case& base, const std::vector<SweepPoint>& points, const Console& console,
                     const StopRequested& stop, const operators::Communicator& processes) {
  return Study(base, points, console, stop, processes).run();
}

}  // namespace femcg::solver

#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/records/result.hpp"

namespace femcg::solver {

/// One linear system that every operator is tried on: a finite-element problem, or a matrix from a file.
struct System {
  const operators::BilinearForm* form = nullptr;               ///< null for a matrix
  std::shared_ptr<const operators::CsrMatrix<double>> matrix;  ///< null for a form
  std::span<const double> load;                                ///< right-hand side of CG; empty: products only
  PreconditionerChoice preconditioner{"none", {}, {}};
  std::shared_ptr<const MatrixSource> source;  ///< of a matrix
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;

  std::int32_t unknowns() const { return form != nullptr ? form->unknowns : matrix->rows; }
};

/// An operator that takes part, on one device.
struct BenchmarkEntry {
  OperatorChoice op;
  operators::Device device = operators::Device::host;
  std::map<std::string, std::string> sweep;  ///< the swept keys and their values here
  std::string not_applicable;                ///< why it cannot take part; empty where it can
};

struct ComparisonSettings {
  Precision precision = Precision::double_;
  int iterations = 200;
  int repetitions = 5;
  std::vector<int> right_hand_sides{1};  ///< how many at once: a row for each
  /// Told before each step which fraction of all is done and what comes next; false once the user wants to stop.
  std::function<bool(double done, const std::string& next)> go_on;
  /// Asked within a step whether the user wants to stop.
  std::function<bool()> stop = {};
};

/// How CG goes with so many right-hand sides, where this was asked for.
CgMethod method_for(CgMethod asked, int right_hand_sides);

/// Whether nothing speaks against timing a row so far.
inline bool is_open(const BenchmarkResult& row) { return row.outcome == Outcome::interrupted; }
/// The row says why it was not timed.
void fail(BenchmarkResult& row, const std::exception& error);
/// Makes an operator; where it does not fit beside others, `time_group` times those first, and gives them back. Where
/// it fails the rows say why.
template <class Make, class TimeGroup>
void make_or_time_first(std::span<BenchmarkResult> rows, bool beside_others, const Make& make,
                        const TimeGroup& time_group) try {
  if (beside_others) try {
      return make();
    } catch (const std::bad_alloc&) {
      time_group();
    }
  make();
} catch (const std::exception& error) {
  for (BenchmarkResult& row : rows) fail(row, error);
}
/// What came out of the check against the reference.
void note(const Agreement& found, BenchmarkResult& row);
/// What came out of its turns, of so many iterations each.
template <std::floating_point T>
void note(const TimedEntry<T>& timed, int iterations, BenchmarkResult& row) {
  row.outcome = Outcome::timed;
  row.reason.clear();
  row.record.apply = timed.product;
  row.iteration = timed.iteration;
  CgResult& solve = row.record.solve;
  solve.method = timed.method;
  solve.loop = timed.loop;
  solve.deferred = timed.deferred;
  solve.iterations = row.iteration.empty() ? 0 : iterations * row.right_hand_sides;
  solve.seconds = row.iteration.median() * static_cast<double>(solve.iterations);
  row.record.seconds.solve = solve.seconds;
}
/// What rows say of each other: break-even with the fastest csr of the same device, reduction against ellpack, and the
/// gain from several right-hand sides.
void relate(std::vector<BenchmarkResult>& rows);

/// Makes every entry's operator, checks that it agrees with the reference, and times those that do, in turn. Those
/// that do not agree are not timed. Operators that do not fit in memory together are timed in groups. An entry that
/// fails says why in its row, and the others go on. `common` is what all records share.
///
/// With several right-hand sides CG is batched (solver/krylov/batched_cg.hpp); the first is the system's, the others
/// are made of it.
std::vector<BenchmarkResult> compare_operators(const System& system, const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common);

}  // namespace femcg::solver

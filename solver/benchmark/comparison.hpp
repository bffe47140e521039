#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/benchmark/timing.hpp"
#include "solver/records/result.hpp"

namespace femcg::solver {

/// How far CG goes where whole solves are compared.
struct SolveLimits {
  double tolerance;
  std::int64_t max_iterations;
};

/// The linear system that every operator is tried on, and how CG solves it: a finite-element problem, or a matrix from
/// a file. Where several processes share it, the part of this process.
struct System {
  const operators::BilinearForm* form = nullptr;                    ///< null for a matrix
  std::shared_ptr<const operators::CsrMatrix<double>> matrix = {};  ///< null for a form, and on several processes
  std::optional<std::span<const double>> load = {};                 ///< right-hand side of CG; none: products only
  PreconditionerChoice preconditioner{"none", {}, {}};              ///< auto: jacobi; that of a run where it is solved
  std::shared_ptr<const MatrixSource> source = {};                  ///< of a matrix
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  PartOfForm of = {};                      ///< of several processes
  std::optional<SolveLimits> solves = {};  ///< besides timing iterations: CG to the end, once

  std::int32_t unknowns() const { return form != nullptr ? form->unknowns : matrix->rows; }
};

/// An operator that takes part, on one device.
struct BenchmarkEntry {
  OperatorChoice op;
  operators::Device device = operators::Device::host;
  std::map<std::string, std::string> sweep;  ///< the swept keys and their values here
  std::string not_applicable;                ///< why it cannot take part; empty where it can

  const operators::OperatorDescription& description() const { return *operators::find_operator(op.name); }
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

template <std::floating_point T>
class Testbed;

/// Makes every entry's operator, checks that it agrees with the reference, and times those that do, in turn. Those
/// that do not agree are not timed. Operators that do not fit in memory together are timed in groups. An entry that
/// fails says why in its row, and the others go on. `common` is what all records share.
///
/// With several right-hand sides CG is batched (solver/krylov/batched_cg.hpp); the first is the system's, the others
/// are made of it.
///
/// Collective: each process of the communicator has its testbed. Times are those of the slowest; the rows are complete
/// on the first process.
template <std::floating_point T>
std::vector<BenchmarkResult> compare_operators(const System& system, Testbed<T>& testbed,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common,
                                               const operators::Communicator& communicator);

/// The same on one process.
std::vector<BenchmarkResult> compare_operators(const System& system, const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common);

}  // namespace femcg::solver

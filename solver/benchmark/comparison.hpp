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

/// Stopping criteria of CG if whole solves are compared.
struct SolveLimits {
  double tolerance;
  std::int64_t max_iterations;
};

/// Linear system that every operator is applied to, and how CG solves it: a finite-element problem, or a matrix from a
/// file. On several processes, the subdomain of this process.
struct System {
  const operators::BilinearForm* form = nullptr;                    ///< null for a matrix
  std::shared_ptr<const operators::CsrMatrix<double>> matrix = {};  ///< null for a form, and on several processes
  std::optional<std::span<const double>> load = {};                 ///< right-hand side of CG; none: products only
  PreconditionerChoice preconditioner{"none", {}, {}};              ///< auto: jacobi; for whole solves, as in a run
  std::shared_ptr<const MatrixSource> source = {};                  ///< of a matrix
  CgMethod method = CgMethod::automatic;
  CgLoop loop = CgLoop::automatic;
  PartOfForm of = {};                      ///< of several processes
  std::optional<SolveLimits> solves = {};  ///< if set, also solves once to the tolerance after timing iterations

  std::int32_t unknowns() const { return form != nullptr ? form->unknowns : matrix->rows; }
};

/// An operator in a comparison, on one device.
struct BenchmarkEntry {
  OperatorChoice op;
  operators::Device device = operators::Device::host;
  std::map<std::string, std::string> sweep;  ///< swept keys with this entry's values
  std::string not_applicable;                ///< why it cannot take part; empty if it can

  const operators::OperatorDescription& description() const { return *operators::find_operator(op.name); }
};

struct ComparisonSettings {
  Precision precision = Precision::double_;
  int iterations = 200;
  int repetitions = 5;
  std::vector<int> right_hand_sides{1};  ///< right-hand sides at once: a row for each number
  /// Called before each step with the fraction done and the name of the next step; returns false if the user wants to
  /// stop.
  std::function<bool(double done, const std::string& next)> go_on;
  /// Called within a step; returns true if the user wants to stop.
  std::function<bool()> stop = {};
};

template <std::floating_point T>
class Testbed;

/// Makes every entry's operator, checks that it agrees with the reference, and times those that agree, interleaved.
/// Operators that do not fit in memory at the same time are timed in groups. A failing entry reports the reason in its
/// row; the others continue. `common`: the part that all records share.
///
/// With several right-hand sides CG is batched (solver/krylov/batched_cg.hpp); the first is the system's, the others
/// are derived from it.
///
/// Collective: each process of the communicator passes its testbed. Times are those of the slowest process; the rows
/// are complete on the first process.
template <std::floating_point T>
std::vector<BenchmarkResult> compare_operators(const System& system, Testbed<T>& testbed,
                                               const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common,
                                               const operators::Communicator& communicator);

/// The same on one process.
std::vector<BenchmarkResult> compare_operators(const System& system, const std::vector<BenchmarkEntry>& entries,
                                               const ComparisonSettings& settings, const Record& common);

}  // namespace femcg::solver

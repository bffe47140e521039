#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

enum class StopReason { converged, max_iterations, indefinite, not_finite, stagnated, interrupted };
std::string_view name(StopReason reason);

/// The two numbers that must fall to the tolerance before CG has converged.
struct Awaited {
  double residual = 0;      ///< |r| / |b|, scaled where a check has found that it must fall further than the tolerance
  double energy_error = 0;  ///< as in CgResult, as estimated before this iteration; 0 while the residual is above

  void join(const Awaited& other) {
    residual = std::max(residual, other.residual);
    energy_error = std::max(energy_error, other.energy_error);
  }
};

struct Iteration {
  std::int64_t number;
  double relative_residual;
  double seconds;  ///< since the loop began
  Awaited awaited = {};
};

struct CgResult {
  CgMethod method = CgMethod::classic;  ///< what was chosen
  CgLoop loop = CgLoop::launched;
  bool delayed_update = false;  ///< whether x moved in every second iteration (operators::DelayedUpdate)
  StopReason reason = StopReason::max_iterations;
  std::int64_t iterations = 0;
  double relative_residual = 0;       ///< of the recurrence, |r| / |b|
  double true_relative_residual = 0;  ///< of b - A x; where it is not converged, if it can be recomputed
  /// |x - A^-1 b|_A over the square root of the solution's energy (EnergyCheck), as estimated; not a number where it is
  /// not known.
  double energy_error = std::numeric_limits<double>::quiet_NaN();
  /// |x - A^-1 b|_A of an x that M approximated over that of the x before it, as M has it; not a number where there is
  /// none.
  double approximated = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;              ///< the loop alone, and such an approximation
  std::vector<Iteration> history;  ///< number 0 is the start
};

/// State of an interrupted CG run that another run can resume: r, p and the correction that x still lacks, in the
/// natural order of the unknowns on the operator's device, and the scalars of the last iteration. Empty where only x
/// can be resumed, which is then complete.
template <std::floating_point T>
struct CgCheckpoint {
  CgResult result;
  operators::Vector<T> r, p, x;
  std::vector<double> scalars;  ///< operators::CgScalars
};

/// A persistent kernel that was asked for is had wherever there is one.
constexpr operators::PersistentFor persistent_for(CgLoop loop) {
  return loop == CgLoop::persistent ? operators::PersistentFor::possible : operators::PersistentFor::faster;
}

/// CG in mixed precision updates reliably once |r| has fallen by this factor since the update before.
constexpr double update_factor = 0.1;

/// When the iteration ends: as converged once |r| <= tolerance |b|, or after so many iterations.
struct StoppingRule {
  double tolerance = 1e-8;
  std::int64_t max_iterations = 10000;
};

/// A solution x by its true residual r.
struct SolutionAccuracy {
  double energy = 0;  ///< of the solution
  double excess = 0;  ///< the largest of some norms of r, each over what the tolerance allows: 1 at most to be accepted
};

/// Convergence by energies, where |r| <= tolerance |b| alone would say nothing: the error's, |x - A^-1 b|_A^2, must be
/// below tolerance^2 times the solution's, and the true residual must agree. x and r are in the natural order of the
/// unknowns. Collective.
struct EnergyCheck {
  /// Energy of the solution, as x has it. Empty: convergence is a matter of |r| alone.
  std::function<double(std::span<const double> x)> of_solution;
  std::function<SolutionAccuracy(std::span<const double> x, std::span<const double> r)> accuracy;
  double norm_b = 0;  ///< relative residuals are measured by, where the b of CG is what a start leaves; 0: |b|
};

/// Which recurrence computes the iterates, and with which M: all are conjugate gradients for M^-1 A, and differ in
/// rounding, in the sums that an iteration waits for and in the words that it moves.
template <std::floating_point T>
struct RecurrenceChoice {
  CgMethod method = CgMethod::automatic;              ///< by default single-reduction in one kernel, else classic
  CgLoop loop = CgLoop::automatic;                    ///< by default the persistent kernel where that is faster
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: M = I
  /// Reliable updates where above 0 (Clark et al. 2010): whenever |r| has fallen by this factor, x is added to a sum in
  /// double precision, r becomes the true residual, and the direction stays. Vectors and products in single precision
  /// then reach what double precision does, in fewer iterations than with restarts. For the classic recurrence in
  /// launched passes.
  double reliable_update = 0;
};

/// How iterations are given to the device: in batches, whose scalars the host reads when a batch is done, on a GPU
/// while the next one runs.
struct Batching {
  /// Iterations of a batch; 0: one on the host, where reading costs nothing (8 of the pipelined recurrence, which waits
  /// for its sums there), 16 on a GPU (64 in a persistent kernel, 1 with a preconditioner that is not
  /// diagonal).
  std::int64_t check_every = 0;
  bool captured = true;  ///< a GPU is given a batch as one CUDA graph; not where the operator waits for the GPU
};

/// The true residual b - A x in double precision, which decides of convergence: rounding lets the recurrence's r drift
/// from it (van der Vorst & Ye 2000).
struct ResidualCheck {
  /// On the host. By default the operator's own product.
  std::function<std::vector<double>(const std::vector<double>& x)> true_residual;
  /// On a GPU, in place of true_residual: r = b - A x, in the natural order of the unknowns; `scratch` is for whatever
  /// it needs. x then stays there until the loop ends.
  std::function<void(const operators::Vector<double>& x, operators::Vector<double>& r,
                     operators::Vector<double>& scratch)>
      residual_on_gpu;
};

/// Who watches the iteration, and may end it.
struct Observation {
  std::function<bool(const Iteration&)> monitor;  ///< called after every iteration; false ends the loop as interrupted
  std::function<bool()> enough;                   ///< called before every batch; true ends it as max_iterations does
  const double* aside = nullptr;  ///< seconds of the operator's other work so far, which the clock leaves out
};

/// The start of the iteration, x = 0 by default, and its state at the end. A resumed run continues x, the numbers of
/// iterations, times and history of the run before, perhaps with another operator: where both are classic and M is
/// diagonal, the recurrence itself, on the host to the bit; else it restarts from the true residual.
template <std::floating_point T>
struct Resumption {
  const CgCheckpoint<T>* before = nullptr;  ///< the state of a run on the same system; null: none
  bool from_x = false;                      ///< without such a run: begins from x as it is given
  bool approximates = false;                ///< and first approximates what is left (Preconditioner::approximate)
  CgCheckpoint<T>* after = nullptr;         ///< filled where the loop ends for its number of iterations
};

template <std::floating_point T>
struct CgOptions : StoppingRule, RecurrenceChoice<T>, Batching, ResidualCheck, Observation, Resumption<T> {
  EnergyCheck energy;
};

/// How far all systems of a group are.
struct SystemsIteration {
  std::int64_t number;
  int running;               ///< systems that are not done
  double relative_residual;  ///< the largest of theirs
  double seconds;            ///< since the loop began
  Awaited awaited = {};      ///< the largest of theirs
};

/// The same tolerance, M and batches for every system.
template <std::floating_point T>
struct SystemsCgOptions : StoppingRule, Batching {
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: M = I
  bool from_x = false;                                ///< begins from each x as it is given, not from 0
  bool approximates = false;                          ///< and first approximates what is left
  /// b - A x of a system, recomputed in double precision. By default the operator's own product.
  std::function<std::vector<double>(std::size_t system, const std::vector<double>& x)> true_residual;
  std::function<EnergyCheck(std::size_t system)> energy;  ///< empty: none
  /// Called after every iteration; false ends the loop of all systems as interrupted.
  std::function<bool(const SystemsIteration&)> monitor;
};

/// Preconditioned conjugate gradients for A x = b from x = 0, from an x that is given, or from where an earlier loop
/// came to, whose x then goes in. b and x are in the natural order of the unknowns.
///
/// With M the identity or diagonal, the vector kernels compute M^-1 r; else it is one more vector, and the recurrence
/// the classic one with launched kernels.
///
/// Ends as converged only where the residual recomputed meets the tolerance, and the energies do (EnergyCheck); where
/// it does not, the recurrence restarts from it (van der Vorst & Ye 2000), and where two restarts running do not halve
/// it, as stagnated. What the restarts find is added up in double precision, so that single precision too reaches any
/// tolerance that its restarts approach (iterative refinement); with reliable updates there are few. A direction with
/// p'Ap <= 0 ends it as indefinite.
///
/// On a GPU scalars stay there and the host only looks at residuals that are past: x may be some iterations further
/// than the one that is reported. Throws InputError where a persistent kernel is asked for and there is none, or a
/// recurrence that the preconditioner does not allow.
template <std::floating_point T>
CgResult conjugate_gradients(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options);

}  // namespace femcg::solver

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

/// The two quantities that must fall to the tolerance before CG has converged.
struct Awaited {
  double residual = 0;      ///< |r| / |b|, scaled if a check required it to fall below the tolerance
  double energy_error = 0;  ///< as in CgResult, estimated before this iteration; 0 while the residual is too large

  void join(const Awaited& other) {
    residual = std::max(residual, other.residual);
    energy_error = std::max(energy_error, other.energy_error);
  }
};

struct Iteration {
  std::int64_t number;
  double relative_residual;
  double seconds;  ///< since the start of the loop
  Awaited awaited = {};
};

struct CgResult {
  CgMethod method = CgMethod::classic;  ///< as chosen
  CgLoop loop = CgLoop::launched;
  bool delayed_update = false;  ///< true if x was updated in every second iteration only (operators::DelayedUpdate)
  StopReason reason = StopReason::max_iterations;
  std::int64_t iterations = 0;
  double relative_residual = 0;       ///< |r| / |b| of the recurrence
  double true_relative_residual = 0;  ///< of b - A x; if not converged, only if it can be recomputed
  /// Estimate of |x - A^-1 b|_A over the square root of the solution's energy (EnergyCheck); NaN if unknown.
  double energy_error = std::numeric_limits<double>::quiet_NaN();
  /// Estimate by M of |x - A^-1 b|_A after M's approximation relative to the value before it; NaN without an
  /// approximation.
  double approximated = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;              ///< of the loop and of such an approximation
  std::vector<Iteration> history;  ///< number 0 is the start
};

/// State of an interrupted CG run that another run can resume: r, p and the pending correction of x, in the natural
/// order of the unknowns on the operator's device, and the scalars of the last iteration. Empty if only x, which is
/// then complete, can be resumed.
template <std::floating_point T>
struct CgCheckpoint {
  CgResult result;
  operators::Vector<T> r, p, x;
  std::vector<double> scalars;  ///< operators::CgScalars
};

/// A requested persistent kernel is used wherever one is possible.
constexpr operators::PersistentFor persistent_for(CgLoop loop) {
  return loop == CgLoop::persistent ? operators::PersistentFor::possible : operators::PersistentFor::faster;
}

/// CG in mixed precision makes a reliable update once |r| has fallen by this factor since the last update.
constexpr double update_factor = 0.1;

/// Stopping rule: converged once |r| <= tolerance |b|; ends after max_iterations.
struct StoppingRule {
  double tolerance = 1e-8;
  std::int64_t max_iterations = 10000;
};

/// Accuracy of a solution x, from its true residual r.
struct SolutionAccuracy {
  double energy = 0;  ///< of the solution
  double excess = 0;  ///< maximum of several norms of r, each relative to its tolerance; accepted if at most 1
};

/// Convergence in energy, where |r| <= tolerance |b| alone is not meaningful: the error's energy |x - A^-1 b|_A^2 must
/// be below tolerance^2 times the solution's, and the true residual must agree. x and r are in the natural order of the
/// unknowns. Collective.
struct EnergyCheck {
  /// Energy of the solution, from x. Empty: convergence depends on |r| only.
  std::function<double(std::span<const double> x)> of_solution;
  std::function<SolutionAccuracy(std::span<const double> x, std::span<const double> r)> accuracy;
  double norm_b = 0;  ///< reference for relative residuals, if a start has changed CG's b; 0: |b|
};

/// Choice of recurrence, loop and M. All recurrences are conjugate gradients for M^-1 A; they differ in rounding, in
/// the reductions that an iteration waits for, and in memory traffic.
template <std::floating_point T>
struct RecurrenceChoice {
  CgMethod method = CgMethod::automatic;              ///< automatic: single-reduction if persistent, else classic
  CgLoop loop = CgLoop::automatic;                    ///< automatic: the persistent kernel if faster
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: M = I
  /// Reliable updates if above 0 (Clark et al. 2010): whenever |r| has fallen by this factor, x is added to a sum in
  /// double precision, r becomes the true residual, and the direction is retained. Vectors and products in single
  /// precision then reach the accuracy of double precision, in fewer iterations than with restarts. For the classic
  /// recurrence in launched kernels.
  double reliable_update = 0;
};

/// Batching of iterations: the host reads the scalars of a batch when it is done, on a GPU while the next batch runs.
struct Batching {
  /// Iterations per batch; 0: 1 on the host, where reading costs nothing (8 for the pipelined recurrence, which waits
  /// for its sums there), 16 on a GPU (64 in a persistent kernel, 1 with a non-diagonal preconditioner).
  std::int64_t check_every = 0;
  bool captured = true;  ///< a GPU runs each batch as one CUDA graph; not if the operator waits for the GPU
};

/// The true residual b - A x in double precision, which decides convergence: rounding makes the recurrence's r deviate
/// from it (van der Vorst & Ye 2000).
struct ResidualCheck {
  /// Computes b - A x on the host. Default: the operator's own product.
  std::function<std::vector<double>(const std::vector<double>& x)> true_residual;
  /// Computes r = b - A x on a GPU, in place of true_residual, in the natural order of the unknowns; `scratch` is free
  /// for use. x then stays on the GPU until the loop ends.
  std::function<void(const operators::Vector<double>& x, operators::Vector<double>& r,
                     operators::Vector<double>& scratch)>
      residual_on_gpu;
};

/// Callbacks that observe the iteration, and may end it.
struct Observation {
  std::function<bool(const Iteration&)> monitor;  ///< called after every iteration; false ends the loop as interrupted
  std::function<bool()> enough;                   ///< called before every batch; true ends it as max_iterations does
  const double* aside = nullptr;  ///< seconds of the operator's other work so far, excluded from the loop's time
};

/// Start of the iteration, by default x = 0, and its state at the end. A resumed run continues x, iteration numbers,
/// times and history of the earlier run, possibly with another operator. If both runs are classic and M is diagonal,
/// the recurrence itself continues, bitwise identically on the host; else it restarts from the true residual.
template <std::floating_point T>
struct Resumption {
  const CgCheckpoint<T>* before = nullptr;  ///< state of a run on the same system; null: none
  bool from_x = false;                      ///< without `before`: starts from the given x
  bool approximates = false;                ///< first adds M's approximation of the rest (Preconditioner::approximate)
  CgCheckpoint<T>* after = nullptr;         ///< filled if the loop ends by its number of iterations
};

template <std::floating_point T>
struct CgOptions : StoppingRule, RecurrenceChoice<T>, Batching, ResidualCheck, Observation, Resumption<T> {
  EnergyCheck energy;
};

/// Progress of all systems of a group.
struct SystemsIteration {
  std::int64_t number;
  int running;               ///< number of active systems
  double relative_residual;  ///< maximum over the active systems
  double seconds;            ///< since the start of the loop
  Awaited awaited = {};      ///< maximum over the active systems
};

/// CG options that all systems share.
template <std::floating_point T>
struct SystemsCgOptions : StoppingRule, Batching {
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: M = I
  bool from_x = false;                                ///< starts from the given x, not from 0
  bool approximates = false;                          ///< first adds M's approximation of the rest
  /// Recomputes b - A x of a system in double precision. Default: the operator's own product.
  std::function<std::vector<double>(std::size_t system, const std::vector<double>& x)> true_residual;
  std::function<EnergyCheck(std::size_t system)> energy;  ///< empty: none
  /// Called after every iteration; false ends the loop of all systems as interrupted.
  std::function<bool(const SystemsIteration&)> monitor;
};

/// Preconditioned conjugate gradients for A x = b from x = 0, from a given x, or resuming an earlier run with its x. b
/// and x are in the natural order of the unknowns.
///
/// If M is the identity or diagonal, the vector kernels compute M^-1 r; otherwise M^-1 r is a further vector, and the
/// recurrence is the classic one with launched kernels.
///
/// Ends as converged only if the recomputed residual meets the tolerance, and the energies do (EnergyCheck). Otherwise
/// the recurrence restarts from the recomputed residual (van der Vorst & Ye 2000); if two successive restarts do not
/// halve it, CG ends as stagnated. The corrections of the restarts are accumulated in double precision, so that single
/// precision too reaches any tolerance that its restarts approach (iterative refinement); with reliable updates
/// restarts are few. A direction with p'Ap <= 0 ends CG as indefinite.
///
/// On a GPU the scalars stay there and the host examines past residuals only: x may be some iterations ahead of the
/// reported one. Throws InputError if a requested persistent kernel is not available, or if the preconditioner does not
/// allow the recurrence.
template <std::floating_point T>
CgResult conjugate_gradients(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options);

}  // namespace femcg::solver

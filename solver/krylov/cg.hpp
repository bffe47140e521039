#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "operators/operator.hpp"
#include "operators/persistent/persistent_cg.hpp"
#include "solver/krylov/cg_choice.hpp"
#include "solver/krylov/preconditioner.hpp"

namespace femcg::solver {

enum class StopReason { converged, max_iterations, indefinite, not_finite, stagnated, interrupted };
std::string_view name(StopReason reason);

struct Iteration {
  std::int64_t number;
  double relative_residual;
  double seconds;  ///< since the loop began
};

struct CgResult {
  CgMethod method = CgMethod::classic;  ///< what was chosen
  CgLoop loop = CgLoop::launched;
  bool deferred = false;  ///< whether x moved in every second iteration (operators::DeferredUpdate)
  StopReason reason = StopReason::max_iterations;
  std::int64_t iterations = 0;
  double relative_residual = 0;       ///< of the recurrence, |r| / |b|
  double true_relative_residual = 0;  ///< of b - A x; where it is not converged, if it can be recomputed
  double seconds = 0;                 ///< the loop alone
  std::vector<Iteration> history;     ///< number 0 is the start
};

/// Where a loop came to: its result; and its residual, its direction and what is to be added to x, in the natural order
/// of the unknowns, on the operator's device, with the numbers of its last iteration. These are empty where another
/// loop cannot take them up; x is then complete, and its residual recomputed.
template <std::floating_point T>
struct CgState {
  CgResult result;
  operators::Vector<T> r, p, x;
  std::vector<double> scalars;  ///< operators::CgScalars
};

/// A loop inside one kernel that was asked for is had wherever there is one.
constexpr operators::PersistentFor persistent_for(CgLoop loop) {
  return loop == CgLoop::resident ? operators::PersistentFor::possible : operators::PersistentFor::faster;
}

/// Of CG in mixed precision: |r| at a reliable update over that at the one before.
constexpr double update_factor = 0.1;

template <std::floating_point T>
struct CgOptions {
  double tolerance = 1e-8;  ///< on |r| / |b|
  std::int64_t max_iterations = 10000;
  CgMethod method = CgMethod::automatic;              ///< by default single-reduction inside one kernel, else classic
  CgLoop loop = CgLoop::automatic;                    ///< by default inside one kernel where that is faster
  const Preconditioner<T>* preconditioner = nullptr;  ///< null: none
  /// Iterations between two looks at the residual; 0: one on the host, where they cost nothing (8 with the pipelined
  /// method, where they wait for its sums), 16 on a GPU (64 inside one kernel), which is given the next ones before the
  /// host looks.
  std::int64_t check_every = 0;
  /// b - A x recomputed in double precision, before anything is called converged. By default the operator's own
  /// product.
  std::function<std::vector<double>(const std::vector<double>& x)> true_residual;
  /// The same where the operator's device is a GPU, in place of true_residual: r = b - A x of vectors that are there,
  /// in the natural order of the unknowns; `scratch` is for whatever it needs. x is then kept there until the loop
  /// ends.
  std::function<void(const operators::Vector<double>& x, operators::Vector<double>& r,
                     operators::Vector<double>& scratch)>
      residual_on_gpu;
  /// Told of every iteration; false ends the loop as interrupted.
  std::function<bool(const Iteration&)> monitor;
  /// Asked before every batch: true ends the loop as its number of iterations does.
  std::function<bool()> enough;
  /// Where an earlier loop on the same system, perhaps with another operator, came to: this one goes on from its x, and
  /// numbers, times and history begin where that one's end. Where both are classic and the preconditioner is diagonal,
  /// the recurrence goes on as if it had been one loop, on the host to the bit; else it restarts from the residual
  /// recomputed.
  const CgState<T>* before = nullptr;
  bool from_x = false;  ///< begins from x as it is given, not from 0, where there was no earlier loop
  /// Filled where the loop ends for its number of iterations.
  CgState<T>* after = nullptr;
  /// Where above 0: reliable updates (Clark et al. 2010). Whenever |r| has fallen by this factor since the last one, x
  /// is added to what is kept in double precision, r becomes the residual recomputed, and the direction is kept. So
  /// vectors and products in single precision reach what double precision does, in fewer iterations than with restarts.
  /// For the classic recurrence in launched passes.
  double reliable_update = 0;
  bool recorded = true;           ///< a GPU is given batches as recorded work; not where the operator waits for it
  const double* aside = nullptr;  ///< seconds that the operator took for something else, which the clock leaves out
};

/// Preconditioned conjugate gradients for A x = b from x = 0, from an x that is given, or from where an earlier loop
/// came to, whose x then goes in. b and x are in the natural order of the unknowns.
///
/// Where M is the identity or diagonal, the passes over vectors make M^-1 r by themselves; else it is one more vector,
/// and the recurrence the classic one with launched passes.
///
/// Ends as converged only where the residual recomputed meets the tolerance; where it does not, the recurrence
/// restarts from it (van der Vorst & Ye 2000), and where two restarts running do not halve it, as stagnated. What the
/// restarts find is added up in double precision, so that single precision too reaches any tolerance that its restarts
/// approach (iterative refinement); with reliable updates there are few. A direction with p'Ap <= 0 ends it as
/// indefinite.
///
/// On a GPU scalars stay there and the host only looks at residuals that are past: x may be some iterations further
/// than the one that is reported. Throws InputError where a loop inside one kernel is asked for and there is none, or
/// a recurrence that the preconditioner does not allow.
template <std::floating_point T>
CgResult conjugate_gradients(const operators::Operator<T>& a, const operators::Vector<T>& b, std::vector<double>& x,
                             const CgOptions<T>& options);

}  // namespace femcg::solver

#pragma once

#include <span>
#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Preconditioned block conjugate gradients for A X = B from X = 0 (O'Leary 1980): each solution is sought in the joint
/// Krylov space of all residuals, so that no system takes more iterations than alone, and related right-hand sides take
/// fewer. In the form of Dubrulle (2001), with residuals W sigma, where W'M^-1 W = I, which stays stable as residuals
/// become dependent:
///
///   Q = A S,  xi = (S'Q)^-1,  X += S xi sigma,  W zeta = W - Q xi,  S = M^-1 W + S zeta',  sigma = zeta sigma.
///
/// The factorisation W zeta uses the pivoted Cholesky factor of the Gram matrix, which drops directions that are
/// dependent to rounding: right-hand sides may be zero, equal, or sums of others (breakdown-free in the sense of Ji &
/// Li 2017). Errors of dropping show when residuals are recomputed, and are removed by restarts.
///
/// Otherwise like batched_conjugate_gradients. A finished system continues with the others, whose convergence it helps;
/// its own iteration count and history end where it met the tolerance. If A is not positive definite in some direction,
/// all active systems end as indefinite.
template <std::floating_point T>
std::vector<CgResult> block_conjugate_gradients(const operators::Operator<T>& a,
                                                std::span<const operators::Vector<T>> b,
                                                std::vector<std::vector<double>>& x,
                                                const SystemsCgOptions<T>& options);

}  // namespace femcg::solver

#pragma once

#include <span>
#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Preconditioned block conjugate gradients for A X = B from X = 0 (O'Leary 1980): each solution is sought in what the
/// residuals of all systems span together, so that no system takes more iterations than alone, and right-hand sides
/// that have something in common take fewer. In the form of Dubrulle (2001), whose residuals are W sigma with W'M^-1 W
/// = I, which stays stable as residuals become dependent:
///
///   Q = A S,  xi = (S'Q)^-1,  X += S xi sigma,  W zeta = W - Q xi,  S = M^-1 W + S zeta',  sigma = zeta sigma.
///
/// Factors W zeta come from Cholesky's of the Gram matrix with pivots, which leaves out directions that depend on
/// others to rounding: right-hand sides may be zero, equal, or sums of others (breakdown-free in the sense of Ji & Li
/// 2017). What is lost there shows when residuals are recomputed, and is solved from there.
///
/// As batched_conjugate_gradients in all else. A system that is done goes on with the others, whose iterations it
/// helps; its own count and history end where it met the tolerance. Where A is not positive definite on some direction,
/// all systems that run end as indefinite.
template <std::floating_point T>
std::vector<CgResult> block_conjugate_gradients(const operators::Operator<T>& a,
                                                std::span<const operators::Vector<T>> b,
                                                std::vector<std::vector<double>>& x,
                                                const SystemsCgOptions<T>& options);

}  // namespace femcg::solver

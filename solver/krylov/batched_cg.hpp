#pragma once

#include <span>
#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Preconditioned conjugate gradients for A x_c = b_c from x_c = 0, for several right-hand sides: independent
/// recurrences, whose products are made together (operators::MultiVector), and of which each ends as it would alone,
/// for reasons of its own; see conjugate_gradients. All in the natural order of the unknowns.
///
/// More systems than MultiVector::most are solved in turns. A system that is done is frozen: its steps have length
/// zero. Once all that are left fit into half of the columns, the others are dropped, and cost nothing any more. What
/// does not meet the tolerance when its residual is recomputed restarts, with the others of which that is true, when
/// all have ended.
///
/// The `seconds` of a result are the system's part: the time of an iteration is divided among the running systems.
template <std::floating_point T>
std::vector<CgResult> batched_conjugate_gradients(const operators::Operator<T>& a,
                                                  std::span<const operators::Vector<T>> b,
                                                  std::vector<std::vector<double>>& x,
                                                  const SystemsCgOptions<T>& options);

}  // namespace femcg::solver

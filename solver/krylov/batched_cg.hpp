#pragma once

#include <span>
#include <vector>

#include "solver/krylov/cg.hpp"

namespace femcg::solver {

/// Preconditioned conjugate gradients for A x_c = b_c from x_c = 0, for several right-hand sides: independent
/// recurrences with joint products (operators::MultiVector), each of which stops as it would alone (see
/// conjugate_gradients). All vectors are in the natural order of the unknowns.
///
/// More systems than MultiVector::most are solved group by group. A finished system is frozen: its steps have length
/// zero. Once all active systems fit into half of the columns, the others are dropped. Systems whose recomputed
/// residual misses the tolerance restart together after all have ended.
///
/// The `seconds` of a result are the system's fraction: the time of an iteration is divided among the active systems.
template <std::floating_point T>
std::vector<CgResult> batched_conjugate_gradients(const operators::Operator<T>& a,
                                                  std::span<const operators::Vector<T>> b,
                                                  std::vector<std::vector<double>>& x,
                                                  const SystemsCgOptions<T>& options);

}  // namespace femcg::solver

#pragma once

#include <string_view>

namespace femcg::solver {

/// Recurrences. classic: Hestenes & Stiefel 1952, two dependent global sums per iteration and the least memory traffic.
/// single_reduction: Chronopoulos & Gear 1989, one global sum; for small systems on a GPU, where latency dominates.
/// pipelined: Ghysels & Vanroose 2014, one sum that overlaps with the next product; for many processes. batched:
/// classic for each of several right-hand sides. block: block CG (O'Leary 1980), which seeks each solution in the joint
/// Krylov space of all residuals.
enum class CgMethod { automatic, classic, single_reduction, pipelined, batched, block };
std::string_view name(CgMethod method);
/// True if the method takes several right-hand sides at once.
inline bool takes_several(CgMethod method) { return method == CgMethod::batched || method == CgMethod::block; }

/// True if an iteration has one global sum, which needs a diagonal preconditioner.
inline bool has_one_sum(CgMethod method) {
  return method == CgMethod::single_reduction || method == CgMethod::pipelined;
}

/// True if the method may run in one persistent kernel.
inline bool takes_one_kernel(CgMethod method) {
  return method == CgMethod::automatic || method == CgMethod::single_reduction;
}

/// Execution of iterations on the device: launched, kernel by kernel; persistent, all in one persistent kernel (GPU,
/// single-reduction, for operators and sizes that support it); fused, vector kernels inside the product (CPU, classic,
/// for operators that support it).
enum class CgLoop { automatic, launched, persistent, fused };
std::string_view name(CgLoop loop);
/// True if the loop takes one right-hand side only.
inline bool is_for_one_system(CgLoop loop) { return loop == CgLoop::persistent || loop == CgLoop::fused; }
/// Why CG needs a diagonal preconditioner or none; empty if it takes any.
inline std::string_view why_diagonal(CgMethod method, CgLoop loop) {
  return has_one_sum(method)       ? "solver.cg needs a diagonal one"
         : is_for_one_system(loop) ? "solver.loop needs a diagonal one"
                                   : "";
}
/// True if the loop may be a persistent kernel.
inline bool may_be_persistent(CgLoop loop) { return loop == CgLoop::automatic || loop == CgLoop::persistent; }

}  // namespace femcg::solver

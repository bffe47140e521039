#pragma once

#include <string_view>

namespace femcg::solver {

/// The recurrences: Hestenes & Stiefel 1952, whose iteration has two sums that wait for one another and moves least;
/// Chronopoulos & Gear 1989, with one, for small systems on a GPU, where waiting is all that costs; Ghysels & Vanroose
/// 2014, whose one sum is made while the next product is, for many processes that wait long for each other; for several
/// right-hand sides at once the first for each of them, or block CG (O'Leary 1980), which seeks each solution in what
/// the residuals of all span.
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

/// How iterations come to the device: each pass by itself; all in one persistent kernel (GPU, single-reduction, for the
/// operators and sizes that have it); or passes inside the product (CPU, classic, for the operators that have it).
enum class CgLoop { automatic, launched, persistent, fused };
std::string_view name(CgLoop loop);
/// True if the loop takes one right-hand side only.
inline bool is_for_one_system(CgLoop loop) { return loop == CgLoop::persistent || loop == CgLoop::fused; }
/// Why CG needs a diagonal preconditioner, or none; empty where it takes any.
inline std::string_view why_diagonal(CgMethod method, CgLoop loop) {
  return has_one_sum(method)       ? "solver.cg needs a diagonal one"
         : is_for_one_system(loop) ? "solver.loop needs a diagonal one"
                                   : "";
}
/// True if the loop may be one persistent kernel.
inline bool may_be_persistent(CgLoop loop) { return loop == CgLoop::automatic || loop == CgLoop::persistent; }

}  // namespace femcg::solver

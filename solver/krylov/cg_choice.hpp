#pragma once

#include <string_view>

namespace femcg::solver {

/// The recurrences: Hestenes & Stiefel 1952, whose iteration has two sums that wait for one another and moves least;
/// Chronopoulos & Gear 1989, with one, for small systems on a GPU, where waiting is all that costs; for several
/// right-hand sides at once the first for each of them, or block CG (O'Leary 1980), which seeks each solution in what
/// the residuals of all span.
enum class CgMethod { automatic, classic, single_reduction, batched, block };
std::string_view name(CgMethod method);
/// Whether it takes several right-hand sides at once.
inline bool takes_several(CgMethod method) { return method == CgMethod::batched || method == CgMethod::block; }

/// How iterations come to the device: each pass a launch of its own, or all inside one kernel (GPU, single-reduction,
/// for the operators and sizes that have it).
enum class CgLoop { automatic, launched, resident };
std::string_view name(CgLoop loop);

}  // namespace femcg::solver

#pragma once

#include "operators/forms/programs/point_operation.hpp"

namespace femcg::operators {

/// Values per SIMD step: counts of points are multiples of it.
constexpr int points_at_once = 8;

/// to[i] = result of an operation on a[i], b[i] and c[i], as many as it has operands; `to` may be one of these. A
/// result depends on its operands alone, not on i.
void carry_out(PointOperation operation, int count, const double* a, const double* b, const double* c, double* to);
/// The same for an elementary function.
void carry_out_elementary(PointOperation operation, int count, const double* a, const double* b, double* to);

}  // namespace femcg::operators

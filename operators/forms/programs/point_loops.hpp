#pragma once

#include "operators/forms/programs/point_operation.hpp"

namespace femcg::operators {

/// Numbers that go through an operation at once: counts of points are multiples of it.
constexpr int points_at_once = 8;

/// to[i] = what an operation makes of a[i], b[i] and c[i], of which it takes as many as it needs; `to` may be one of
/// them. A result depends on its own numbers alone, not on its place.
void carry_out(PointOperation operation, int count, const double* a, const double* b, const double* c, double* to);
/// The same of an elementary function.
void carry_out_elementary(PointOperation operation, int count, const double* a, const double* b, double* to);

}  // namespace femcg::operators

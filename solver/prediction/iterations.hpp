#pragma once

#include <cstdint>

#include "operators/forms/bilinear_form.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Estimates the number of CG iterations by a rule: with c depending on the cell shape, p the degree, and L / h the
/// longest extent of the mesh over the mean size of its cells,
///
///   c p^0.4 p L / h  ln(2 / tolerance) / ln(2e8),
///
/// c = 1.35, 1.85, 1.45, 2.5 for quadrilaterals, triangles, hexahedra, tetrahedra: the square root of the condition
/// number grows with p L / h if a side of the part has prescribed values. The constants are fitted to Poisson's
/// equation on the unit square and cube with Jacobi's preconditioner. Weakly constrained parts (Robin terms only) and
/// jumping coefficients need several times as many.
double expected_iterations(const operators::BilinearForm& form, double tolerance, std::int64_t most);
/// Estimate for a matrix without further information: twice the square root of its number of rows.
double expected_iterations(std::int64_t rows, std::int64_t most);

/// Estimate for a problem, with its coefficients and conditions: for degree p of 2 or more, if it takes milliseconds or
/// little of the time of several loads, CG is run with degree 1 on the same mesh, and its iterations are multiplied by
/// p^1.3; otherwise by the rule.
double expected_iterations(const Problem& problem, const SolverChoice& solver);

}  // namespace femcg::solver

#pragma once

#include <cstdint>

#include "operators/forms/bilinear_form.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// About how many iterations CG takes, by a rule: with c for the shape of cells, p the degree, and L / h the longest
/// extent of the mesh over the mean size of its cells,
///
///   c p^0.4 p L / h  ln(2 / tolerance) / ln(2e8),
///
/// c = 1.35, 1.85, 1.45, 2.5 for quadrilaterals, triangles, hexahedra, tetrahedra: the square root of the condition
/// number grows with p L / h where a side of the part is held. The constants are of Poisson's equation on the unit
/// square and cube, with Jacobi's preconditioner. Parts that are held by little (Robin terms alone), and coefficients
/// that jump, take several times as many.
double expected_iterations(const operators::BilinearForm& form, double tolerance, std::int64_t most);
/// Expected iterations for a matrix about which nothing is known: twice the square root of its rows.
double expected_iterations(std::int64_t rows, std::int64_t most);

/// The same of a problem, with its coefficients and conditions: from degree 2 on, and where that takes milliseconds or
/// little of what several loads take, CG is run with degree 1 on the same mesh, and the degree p takes p^1.3 times as
/// many iterations as that; otherwise by the rule.
double expected_iterations(const Problem& problem, const SolverChoice& solver);

}  // namespace femcg::solver

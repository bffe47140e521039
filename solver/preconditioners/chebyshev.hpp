#pragma once

#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// M^-1 = q(D^-1 A) D^-1 with D the diagonal of A and q the polynomial for which 1 - lambda q(lambda) is least on
/// [lambda_max / ratio, 1.1 lambda_max]: with its middle theta and half its length delta,
///
///     1 - lambda q(lambda) = T_degree((theta - lambda) / delta) / T_degree(theta / delta)
///
/// with the Chebyshev polynomial T (Saad 2003, Iterative Methods for Sparse Linear Systems, algorithm 12.1, from z =
/// 0). An application takes degree - 1 products with A, the first step needing none, and 7 degree - 3 words per unknown
/// beside them; degree 1 is jacobi / theta. Symmetric, and positive definite as far as lambda_max was not
/// underestimated by more than 11 percent.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_chebyshev(const operators::Operator<T>& a, const operators::Options& given,
                                                  const PreconditionerInput<T>& input);

std::span<const operators::OptionDescription> chebyshev_options();

/// Vectors that it holds beside D^-1.
constexpr int chebyshev_vectors = 2;

/// The largest eigenvalue of D^-1/2 A D^-1/2, from below: the largest Ritz value after so many steps of the Lanczos
/// method from a fixed vector (always the same numbers, whatever the ordering and the threads). Their tridiagonal
/// matrix is made from the coefficients of CG (Saad 2003, section 6.7.3). Throws InputError where a direction has no
/// energy: `a` is then not positive definite. With `m`, of M^-1/2 A M^-1/2.
template <std::floating_point T>
double largest_eigenvalue(const operators::Operator<T>& a, const operators::InverseDiagonal& inverse_diagonal,
                          int steps = 15, const Preconditioner<T>* m = nullptr);

}  // namespace femcg::solver

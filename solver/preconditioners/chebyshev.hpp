#pragma once

#include "solver/preconditioners/preconditioners.hpp"

namespace femcg::solver {

/// M^-1 = q(D^-1 A) D^-1 with D the diagonal of A and q the polynomial that minimises 1 - lambda q(lambda) on
/// [lambda_max / ratio, 1.1 lambda_max]: with the interval's centre theta and half-length delta,
///
///     1 - lambda q(lambda) = T_degree((theta - lambda) / delta) / T_degree(theta / delta)
///
/// with the Chebyshev polynomial T (Saad 2003, Iterative Methods for Sparse Linear Systems, algorithm 12.1, from z =
/// 0). An application takes degree - 1 products with A (the first step needs none) and 7 degree - 3 further words per
/// unknown; degree 1 is jacobi / theta. Symmetric, and positive definite unless lambda_max was underestimated by more
/// than 11 percent.
template <std::floating_point T>
std::unique_ptr<Preconditioner<T>> make_chebyshev(const operators::Operator<T>& a, const operators::Options& given,
                                                  const PreconditionerInput<T>& input);

std::span<const operators::OptionDescription> chebyshev_options();

/// Number of vectors in addition to D^-1.
constexpr int chebyshev_vectors = 2;

/// Lower bound on the largest eigenvalue of D^-1/2 A D^-1/2: the largest Ritz value after `steps` steps of the Lanczos
/// method from a fixed vector, which does not depend on the ordering or the threads. The tridiagonal matrix is computed
/// from the coefficients of CG (Saad 2003, section 6.7.3). Throws InputError if a direction has no energy: `a` is then
/// not positive definite. With `m`, the eigenvalue of M^-1/2 A M^-1/2.
template <std::floating_point T>
double largest_eigenvalue(const operators::Operator<T>& a, const operators::InverseDiagonal& inverse_diagonal,
                          int steps = 15, const Preconditioner<T>* m = nullptr);

}  // namespace femcg::solver

#pragma once

// Rounding bounds as in Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 3: a number that undergoes
// n operations on its way into a result is multiplied by n factors 1 + delta, |delta| <= u, whose product is 1 + theta
// with |theta| <= gamma_n = n u / (1 - n u). So the error of a sum of products is at most gamma_n times the sum of
// their absolute values, where n is the largest number of operations on any of them, in any order of summation; fused
// multiply-adds only reduce it.

#include <limits>
#include <string_view>

namespace femcg::tests {

/// Unit roundoff u, rounding to nearest.
template <class T>
constexpr long double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

/// gamma_n of the precision T; infinite if n is too large for a bound.
template <class T>
constexpr long double gamma(long double n) {
  const long double nu = n * unit_roundoff<T>;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<long double>::infinity();
}

/// True if an operator of the catalogue computes x'Ax, and the sums of CG, in the working precision, as libraries do.
/// femcg's operators use double precision in either working precision.
constexpr bool adds_in_working_precision(std::string_view name) {
  return name == "eigen" || name.starts_with("cusparse");
}

/// gamma_n of such sums of n products.
template <class T>
constexpr long double gamma_of_energy(std::string_view name, long double n) {
  return adds_in_working_precision(name) ? gamma<T>(n) : gamma<double>(n);
}

}  // namespace femcg::tests

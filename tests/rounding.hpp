#pragma once

// What rounding allows, as in Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 3: a number that
// meets n operations on its way into a result is multiplied by a product of n factors 1 + delta, |delta| <= u, which
// is 1 + theta with |theta| <= gamma_n = n u / (1 - n u). So a sum of products is off by at most gamma_n times the sum
// of their absolute values, n the most operations that one of them meets: in whatever order they are added, and the
// less so where a multiplication and an addition are rounded as one.

#include <limits>
#include <string_view>

namespace femcg::tests {

/// u of rounding to nearest.
template <class T>
constexpr long double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

/// gamma_n of the precision T; infinite where n is so large that nothing can be said.
template <class T>
constexpr long double gamma(long double n) {
  const long double nu = n * unit_roundoff<T>;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<long double>::infinity();
}

/// Whether an operator of the catalogue adds up x'Ax, and the sums of CG, in the working precision, as libraries do.
/// Ours are sums in double precision in either working precision.
constexpr bool adds_in_working_precision(std::string_view name) {
  return name == "eigen" || name.starts_with("cusparse");
}

/// gamma_n of such sums of n products.
template <class T>
constexpr long double gamma_of_energy(std::string_view name, long double n) {
  return adds_in_working_precision(name) ? gamma<T>(n) : gamma<double>(n);
}

}  // namespace femcg::tests

#pragma once

#include <span>
#include <vector>

namespace femcg::solver {

/// A right-hand side as conjugate gradients get it: values = load 2^exponent, the largest from 1 to 2, so that neither
/// single precision nor the squares of a norm lose it. The solution is that of the load times 2^exponent.
struct ScaledLoad {
  std::vector<double> values;
  int exponent = 0;  ///< 0 where the load is zero
};
/// Throws InputError where an entry is not finite, or the largest is so small that its last digits are lost.
ScaledLoad scaled_load(std::span<const double> load);

/// x 2^exponent, entry by entry.
void scale(std::span<double> x, int exponent);

}  // namespace femcg::solver

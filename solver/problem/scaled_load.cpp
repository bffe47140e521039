#include "solver/problem/scaled_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/messages/error.hpp"

namespace femcg::solver {

ScaledLoad scaled_load(std::span<const double> load) {
  ScaledLoad scaled{{load.begin(), load.end()}};
  double most = 0;
  for (const double value : load) {
    if (!std::isfinite(value)) throw InputError("the load overflows: scale the units of equation and boundary");
    most = std::max(most, std::abs(value));
  }
  if (most == 0) return scaled;
  if (most < std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon())
    throw InputError("the load underflows: scale the units of equation and boundary");
  scaled.exponent = -std::ilogb(most);
  scale(scaled.values, scaled.exponent);
  return scaled;
}

void scale(std::span<double> x, int exponent) {
  if (exponent == 0) return;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(x[i], exponent);
}

}  // namespace femcg::solver

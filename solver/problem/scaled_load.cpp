#include "solver/problem/scaled_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/pages.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared) {
  ScaledLoad scaled{mesh::unset<double>(load.size())};
  double most = 0;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(max : most) reduction(&& : finite)
  for (std::size_t i = 0; i < load.size(); ++i) {
    finite = finite && std::isfinite(load[i]);
    most = std::max(most, std::abs(load[i]));
    scaled.values[i] = load[i];
  }
  most = -shared.least(-most);
  if (!finite) throw InputError("the load overflows: scale the units of equation and boundary");
  if (most == 0) return scaled;
  if (most < std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon())
    throw InputError("the load underflows: scale the units of equation and boundary");
  scaled.exponent = -std::ilogb(most);
  scale(scaled.values, scaled.exponent);
  return scaled;
}

void scale(std::span<double> x, int exponent) {
  if (exponent == 0) return;
  // Two factors that are powers of two without overflow, the product of which may be none: rounded as ldexp rounds.
  const int half = exponent / 2;
  const double first = std::ldexp(1.0, std::abs(exponent) > 1000 ? half : exponent),
               second = std::ldexp(1.0, std::abs(exponent) > 1000 ? exponent - half : 0);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * first * second;
}

}  // namespace femcg::solver

#include "solver/problem/scaled_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/pages.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

/// to = x 2^exponent.
void write_scaled(std::span<const double> x, int exponent, std::span<double> to) {
  // Two factors that are powers of two without overflow, the product of which may be none: rounded as ldexp rounds.
  const int half = exponent / 2;
  const double first = std::ldexp(1.0, std::abs(exponent) > 1000 ? half : exponent),
               second = std::ldexp(1.0, std::abs(exponent) > 1000 ? exponent - half : 0);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) to[i] = x[i] * first * second;
}

}  // namespace

ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared) {
  double most = 0;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(max : most) reduction(&& : finite)
  for (std::size_t i = 0; i < load.size(); ++i) {
    finite = finite && std::isfinite(load[i]);
    most = std::max(most, std::abs(load[i]));
  }
  most = -shared.least(-most);
  if (!finite) throw InputError("the load overflows: scale the units of equation and boundary");
  ScaledLoad scaled{mesh::unset<double>(load.size())};
  if (most == 0) {
    std::ranges::fill(scaled.values, 0.0);
    return scaled;
  }
  if (most < std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon())
    throw InputError("the load underflows: scale the units of equation and boundary");
  scaled.exponent = -std::ilogb(most);
  write_scaled(load, scaled.exponent, scaled.values);
  return scaled;
}

void scale(std::span<double> x, int exponent) {
  if (exponent != 0) write_scaled(x, exponent, x);
}

}  // namespace femcg::solver

#pragma once

// Random vectors for tests.

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace femcg::tests {

/// Uniform random numbers in [-1, 1).
inline std::vector<double> random_numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(n);
  for (double& value : x) value = uniform(random);
  return x;
}

inline double norm(std::span<const double> v) {
  double sum = 0;
  for (const double value : v) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace femcg::tests

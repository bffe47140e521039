#include "solver/benchmark/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mesh/pages.hpp"
#include "operators/forms/reference.hpp"
#include "operators/ordering.hpp"

namespace femcg::solver {

namespace {

/// Numbers from -1 to 1 with 24 bits, so that single precision holds them too: the middle bits of a linear
/// congruential sequence (Knuth's MMIX).
std::vector<double> pseudo_random(std::int64_t count) {
  std::vector<double> numbers = mesh::filled<double>(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (double& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  return numbers;
}

/// |a - b| / scale, where 0 / 0 is 0; infinity where a is not finite.
double scaled_difference(double a, double b, double scale) {
  const double difference = std::abs(a - b);
  if (difference == 0) return 0;
  const double scaled = difference / scale;
  return std::isnan(scaled) ? std::numeric_limits<double>::infinity() : scaled;
}

}  // namespace

ReferenceProduct reference_product(const operators::BilinearForm& form) {
  ReferenceProduct reference{pseudo_random(form.unknowns), {}, {}};
  const operators::ReferenceOperator a(form);
  reference.y = a.apply(reference.x);
  reference.scale = a.apply_absolute(reference.x);
  return reference;
}

ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  ReferenceProduct reference{pseudo_random(matrix.rows), std::vector<double>(rows), std::vector<double>(rows)};
#pragma omp parallel for schedule(static)
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    long double sum = 0, absolute_sum = 0;
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      const long double term = static_cast<long double>(matrix.values[k]) * reference.x[matrix.columns[k]];
      sum += term;
      absolute_sum += std::abs(term);
    }
    reference.y[row] = static_cast<double>(sum);
    reference.scale[row] = static_cast<double>(absolute_sum);
  }
  return reference;
}

template <std::floating_point T>
double agreement_bound() {
  return 4000 * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <std::floating_point T>
double worst_difference(const operators::Operator<T>& a, const ReferenceProduct& reference) {
  const std::int64_t n = a.size();
  operators::Vector<T> on_host(n), y(n, a.device());
  std::ranges::copy(reference.x, on_host.data());
  const operators::Vector<T> x = operators::to_ordering(a, on_host);
  operators::fill(on_host, std::numeric_limits<T>::quiet_NaN());
  operators::copy(on_host, y);
  operators::Scalar energy(a.device());
  a.apply(x, y, &energy);
  on_host = operators::copied(operators::from_ordering(a, y), operators::Device::host);

  // Block by block, so that the sums do not depend on the number of threads.
  struct Sums {
    double worst = 0, energy = 0, scale = 0;
  };
  constexpr std::int64_t block = 1 << 15;
  std::vector<Sums> of_blocks(static_cast<std::size_t>((n + block - 1) / block));
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < of_blocks.size(); ++b)
    for (std::int64_t begin = static_cast<std::int64_t>(b) * block, i = begin; i < std::min(begin + block, n); ++i) {
      Sums& sums = of_blocks[b];
      const double found = static_cast<double>(on_host[i]);
      sums.worst = std::max(sums.worst, scaled_difference(found, reference.y[i], reference.scale[i]));
      sums.energy += reference.x[i] * reference.y[i];
      sums.scale += std::abs(reference.x[i]) * reference.scale[i];
    }
  Sums all;
  for (const Sums& sums : of_blocks) {
    all.worst = std::max(all.worst, sums.worst);
    all.energy += sums.energy;
    all.scale += sums.scale;
  }
  return std::max(all.worst, scaled_difference(energy.value(), all.energy, all.scale));
}

template double agreement_bound<double>();
template double agreement_bound<float>();
template double worst_difference(const operators::Operator<double>&, const ReferenceProduct&);
template double worst_difference(const operators::Operator<float>&, const ReferenceProduct&);

}  // namespace femcg::solver

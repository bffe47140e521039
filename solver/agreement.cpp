#include "solver/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/basis.hpp"
#include "operators/element_matrices.hpp"
#include "operators/reference.hpp"

namespace femcg::solver {

namespace {

/// Numbers from -1 to 1 with 24 bits, so that single precision holds them too: the middle bits of a linear
/// congruential sequence (Knuth's MMIX).
std::vector<double> pseudo_random(std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (double& number : numbers) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  return numbers;
}

/// sum_e sum_j |K_e,ij x_j| of every unknown i.
std::vector<double> absolute_sums(const operators::BilinearForm& form, const std::vector<double>& x) {
  const int n = form.dofs_per_cell();
  const auto add_cell = [&](operators::CellEvaluator& evaluator, std::int32_t cell, std::span<double> sums) {
    thread_local std::vector<double> packed;
    packed.resize(static_cast<std::size_t>(n * (n + 1) / 2));
    evaluator.matrix(packed);
    std::ranges::fill(sums, 0.0);
    const auto of = [&](int a) {
      const std::int32_t unknown = form.unknown_of_dof[form.space->dofs(cell)[a]];
      return unknown >= 0 ? std::abs(x[unknown]) : 0.0;
    };
    for (int i = 0, at = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j, ++at) {
        sums[i] += std::abs(packed[at]) * of(j);
        if (j != i) sums[j] += std::abs(packed[at]) * of(i);
      }
  };
  const std::vector<double> of_dofs = operators::sum_over_cells(form, add_cell);
  std::vector<double> of_unknowns(static_cast<std::size_t>(form.unknowns));
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (form.unknown_of_dof[dof] >= 0) of_unknowns[form.unknown_of_dof[dof]] = of_dofs[dof];
  return of_unknowns;
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
  reference.y = operators::ReferenceOperator(form).apply(reference.x);
  reference.scale = absolute_sums(form, reference.x);
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
  const operators::Vector<T> x = operators::to_basis(a, on_host);
  operators::fill(on_host, std::numeric_limits<T>::quiet_NaN());
  operators::copy(on_host, y);
  operators::Scalar energy(a.device());
  a.apply(x, y, &energy);
  on_host = operators::from_basis(a, y);

  double worst = 0, sum = 0, scale = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    worst = std::max(worst, scaled_difference(static_cast<double>(on_host[i]), reference.y[i], reference.scale[i]));
    sum += reference.x[i] * reference.y[i];
    scale += std::abs(reference.x[i]) * reference.scale[i];
  }
  return std::max(worst, scaled_difference(energy.value(), sum, scale));
}

template double agreement_bound<double>();
template double agreement_bound<float>();
template double worst_difference(const operators::Operator<double>&, const ReferenceProduct&);
template double worst_difference(const operators::Operator<float>&, const ReferenceProduct&);

}  // namespace femcg::solver

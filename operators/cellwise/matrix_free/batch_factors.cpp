#include "operators/cellwise/matrix_free/batch_factors.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <span>

#include "mesh/base/first_failure.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/cellwise/matrix_free/matrix_free_inputs.hpp"
#include "operators/forms/cells_at_points.hpp"

namespace femcg::operators {

namespace {

/// Coefficients of -(K_e)_ab in terms of the factors of all points: [points][entries][pairs].
std::vector<double> pair_table(const BilinearForm& form) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  const std::vector<Eigen::MatrixXd> slopes = form.space->basis().gradients(rule.points);
  const int d = form.space->mesh().dimension(), dofs = form.dofs_per_cell();
  std::vector<double> table;
  for (int q = 0; q < rule.size(); ++q)
    for (int r = 0; r < d; ++r)
      for (int s = r; s < d; ++s)
        for (int a = 0; a < dofs; ++a)
          for (int b = a + 1; b < dofs; ++b)
            table.push_back(-slopes[r](q, a) * slopes[s](q, b) - (r != s ? slopes[s](q, a) * slopes[r](q, b) : 0));
  return table;
}

/// Computes the stored values of a few cells from their factors [entries][points]: the same as [points][entries], or
/// with a table the entries of K_e for pairs of dofs.
void put_numbers(std::span<const CellLanes> factors, int points, std::span<const double> table,
                 std::span<CellLanes> numbers) {
  const int entries = static_cast<int>(factors.size()) / points;
  if (!table.empty()) std::ranges::fill(numbers, CellLanes{});
  for (int q = 0; q < points; ++q)
    for (int e = 0; e < entries; ++e) {
      const CellLanes& factor = factors[static_cast<std::size_t>(e * points + q)];
      const std::size_t k = static_cast<std::size_t>(q * entries + e);
      if (table.empty())
        numbers[k] = factor;
      else
        for (std::size_t pair = 0; pair < numbers.size(); ++pair)
          numbers[pair] += table[k * numbers.size() + pair] * factor;
    }
}

/// True if D_q / w_q of a lane's cell is one matrix for all points, up to rounding. `factors`: [entries][points].
bool is_constant(std::span<const CellLanes> factors, std::span<const double> weights, int lane) {
  constexpr double rounding = 1e-13;
  const std::size_t points = weights.size();
  double largest = 0;
  for (std::size_t k = 0; k < factors.size(); k += points)
    largest = std::max(largest, std::abs(factors[k][lane] / weights[0]));
  for (std::size_t k = 0; k < factors.size(); k += points)
    for (std::size_t q = 1; q < points; ++q)
      if (std::abs(factors[k + q][lane] / weights[q] - factors[k][lane] / weights[0]) > rounding * largest)
        return false;
  return true;
}

}  // namespace

bool has_constant_gradients(const BilinearForm& form) {
  return !mesh::is_tensor(form.space->mesh().shape) && form.space->degree() == 1;
}

bool has_pairs(const BilinearForm& form) {
  const mesh::Mesh& mesh = form.space->mesh();
  if (has_constant_gradients(form) || !fewer_pairs(mesh.dimension(), form.dofs_per_cell())) return false;
  return mesh.shape == mesh::CellShape::quadrilateral || !has_constant_factors(form);
}

template <std::floating_point T>
BatchFactors<T>::BatchFactors(const BilinearForm& form, const PatchBatches<T>& batches, WantedFactors wanted)
    : geometry(static_cast<std::size_t>(batches.batches()), BatchGeometry::boxes) {
  const int d = form.space->mesh().dimension();
  entries = d * (d + 1) / 2;
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  points = rule.size();
  const bool pairs = wanted.pairs;
  const bool fewest = !wanted.all_points && !(pairs && mesh::is_tensor(form.space->mesh().shape));
  const BatchGeometry others = pairs ? BatchGeometry::pairs : BatchGeometry::stored;
  const int numbers = pairs ? pairs_of(form.dofs_per_cell()) : points * entries;  // per cell, at most
  std::vector<BatchGeometry> of_cell(static_cast<std::size_t>(form.cells()), others);
  std::vector<double> sets(fewest ? of_cell.size() * static_cast<std::size_t>(entries) : 0);  // of cells with one set
  const bool sums = has_constant_gradients(form);
  const std::span<const double> weights(rule.weights.data(), static_cast<std::size_t>(points));
  const double measure = rule.weights.sum();
  if (fewest)
    for_factors(form, [&](const FactorsAtPoints& at, std::int32_t first, int count) {
      const std::span<const CellLanes> factors = at.factors();
      for (int lane = 0; lane < count; ++lane) {
        if (!sums && !at.constant() && !is_constant(factors, weights, lane)) continue;
        const std::span<double> set = std::span(sets).subspan(std::size_t(first + lane) * entries, entries);
        for (int k = 0; k < entries; ++k) {
          if (!sums) set[k] = factors[k * points][lane] / weights[0];
          for (int q = 0; sums && q < points; ++q) set[k] += factors[k * points + q][lane] / measure;
        }
        of_cell[first + lane] = is_diagonal(set, d) ? BatchGeometry::boxes : BatchGeometry::affine;
      }
    });
  std::int64_t total = 0;
  bool all_are_sets = true;
  for (std::int32_t batch = 0; batch < batches.batches(); ++batch) {
    for (const std::int32_t cell : batches.cells(batch))
      if (cell >= 0) geometry[batch] = std::min(geometry[batch], of_cell[cell]);
    all_are_sets = all_are_sets && geometry[batch] != others;
    offsets.push_back(total);
    total += geometry[batch] == others ? numbers : entries;
  }
  values = Vector<Lanes<T>>(total);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < total; ++k) values[k] = Lanes<T>{};
#pragma omp parallel for schedule(static)
  for (std::int32_t batch = 0; batch < batches.batches(); ++batch)
    for (int l = 0; l < PatchBatches<T>::lanes && geometry[batch] != others; ++l)
      if (const std::int32_t cell = batches.cells(batch)[l]; cell >= 0)
        for (int k = 0; k < entries; ++k)
          values[offsets[batch] + k][l] = static_cast<T>(sets[static_cast<std::size_t>(cell) * entries + k]);
  if (all_are_sets) return;
  const std::vector<std::int64_t> slot_of_cell = batches.slots_of_cells(form.cells());
  const std::vector<double> table = pairs ? pair_table(form) : std::vector<double>();
  for_factors(form, [&](const FactorsAtPoints& at, std::int32_t first, int count) {
    std::vector<CellLanes> of_cells(static_cast<std::size_t>(numbers));
    put_numbers(at.factors(), points, table, of_cells);
    for (int lane = 0; lane < count; ++lane) {
      const auto batch = static_cast<std::int32_t>(slot_of_cell[first + lane] / PatchBatches<T>::lanes);
      if (geometry[batch] != others) continue;
      Lanes<T>* const to = values.data() + offsets[batch];
      const auto place = static_cast<int>(slot_of_cell[first + lane] % PatchBatches<T>::lanes);
      for (int k = 0; k < numbers; ++k) to[k][place] = static_cast<T>(of_cells[static_cast<std::size_t>(k)][lane]);
    }
  });
}

template struct BatchFactors<double>;
template struct BatchFactors<float>;

}  // namespace femcg::operators

#include "operators/forms/cell_diffusion.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numbers>
#include <optional>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/cell_factors.hpp"
#include "operators/forms/cells_at_points.hpp"

namespace femcg::operators {

namespace {

/// True if the form knows the diffusion to be constant in every cell.
bool is_known_constant(const BilinearForm& form) {
  if (!form.diffusion.constant) return false;
  bool all_known = true;
#pragma omp parallel for schedule(static) reduction(&& : all_known)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    all_known = all_known && form.diffusion.constant(cell).has_value();
  return all_known;
}

/// The diffusion of each cell, known to be constant there.
std::vector<double> constants_of_cells(const BilinearForm& form) {
  const auto entries = static_cast<std::size_t>(form.diffusion.entries);
  std::vector<double> values = mesh::filled<double>(static_cast<std::size_t>(form.cells()) * entries);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    std::copy_n(form.diffusion.constant(cell)->entries.begin(), entries,
                values.begin() + static_cast<std::ptrdiff_t>(cell * entries));
  return values;
}

/// The first value of each cell if all values of every cell are equal, else nothing. `of_cell`: numbers of a cell.
std::optional<std::vector<double>> equal_in_cells(std::span<const double> values, std::size_t of_cell, int entries) {
  std::vector<double> firsts;
  for (; !values.empty(); values = values.subspan(of_cell)) {
    if (!all_equal(values.first(of_cell), entries)) return std::nullopt;
    firsts.insert(firsts.end(), values.begin(), values.begin() + entries);
  }
  return firsts;
}

/// As for_each_cell_diffusion, but calls work(cell, positions, values), and stops once goes_on() is false.
template <class Work, class GoesOn>
void visit_diffusion(const BilinearForm& form, const Work& work, const GoesOn& goes_on) {
  const std::int32_t cells = form.cells();
  struct Scratch {
    CellsAtPoints at;
    std::vector<double> values;
  };
  mesh::parallel_for(
      lane_groups(cells),
      [&] {
        CellsAtPoints at(form.space->mesh(), form.quadrature);
        const auto numbers = static_cast<std::size_t>(at.points() * form.diffusion.entries);
        return Scratch{std::move(at), std::vector<double>(numbers)};
      },
      [&](Scratch& scratch, std::int32_t group) {
        if (!goes_on()) return;
        const std::int32_t first = group * cell_lanes, count = std::min<std::int32_t>(cell_lanes, cells - first);
        scratch.at.move_to(first, count, true);
        for (int lane = 0; lane < count; ++lane) {
          form.diffusion.evaluate(first + lane, scratch.at.positions(lane), scratch.values);
          work(first + lane, scratch.at.positions(lane), scratch.values);
        }
      });
}

}  // namespace

CellDiffusion diffusion_of_cells(const BilinearForm& form) {
  if (is_known_constant(form)) return {true, constants_of_cells(form)};
  const int points = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).size(),
            entries = form.diffusion.entries;
  const auto each = static_cast<std::size_t>(points * entries);
  std::vector<double> values = mesh::filled<double>(static_cast<std::size_t>(form.cells()) * each);
  for_each_cell_diffusion(form, [&](std::int32_t cell, std::span<const double> of_cell) {
    std::ranges::copy(of_cell, values.data() + static_cast<std::size_t>(cell) * each);
  });
  if (auto firsts = equal_in_cells(values, each, entries)) return {true, *std::move(firsts)};
  return {false, std::move(values)};
}

CellDiffusion diffusion_times_circumference(const BilinearForm& form) {
  const int points = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).size(),
            entries = form.diffusion.entries;
  const auto each = static_cast<std::size_t>(points * entries);
  std::vector<double> values = mesh::filled<double>(static_cast<std::size_t>(form.cells()) * each);
  visit_diffusion(
      form,
      [&](std::int32_t cell, std::span<const double> positions, std::span<const double> of_cell) {
        double* to = values.data() + static_cast<std::size_t>(cell) * each;
        for (std::size_t k = 0; k < each; ++k) to[k] = 2 * std::numbers::pi * positions[3 * (k / entries)] * of_cell[k];
      },
      [] { return true; });
  return {false, std::move(values)};
}

bool all_equal(std::span<const double> values, int entries) {
  for (std::size_t i = static_cast<std::size_t>(entries); i < values.size(); ++i)
    if (values[i] != values[i - static_cast<std::size_t>(entries)]) return false;
  return true;
}

std::vector<double> least_eigenvalues(std::span<const double> values, int entries) {
  std::vector<double> least = mesh::filled<double>(values.size() / static_cast<std::size_t>(entries));
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = least_eigenvalue(&values[i * entries], entries);
  return least;
}

bool is_constant_in_cells(const BilinearForm& form) {
  if (form.space->mesh().axisymmetric) return false;
  if (is_known_constant(form)) return true;
  std::atomic<bool> varies = false;
  visit_diffusion(
      form,
      [&](std::int32_t, std::span<const double>, std::span<const double> of_cell) {
        if (!all_equal(of_cell, form.diffusion.entries)) varies = true;
      },
      [&] { return !varies; });
  return !varies;
}

std::vector<std::int32_t> cells_with_jumps(const BilinearForm& form, const JumpRange& range, Device device) {
  if (is_known_constant(form)) return {};
  if (device == Device::cuda && !form.diffusion.by_region.empty() && !form.space->mesh().axisymmetric) {
    const FactorInputs inputs = factor_inputs(form, device);
    return inputs.diffusion_per_point == 0 ? std::vector<std::int32_t>()
                                           : cuda_cells_with_jumps(inputs.diffusion, inputs.points, range);
  }
  std::vector<char> is_one(static_cast<std::size_t>(form.cells()), 0);
  for_each_cell_diffusion(form, [&](std::int32_t cell, std::span<const double> values) {
    const std::vector<double> least = least_eigenvalues(values, form.diffusion.entries);
    is_one[cell] = range.contains(least.data(), static_cast<int>(least.size())) ? 1 : 0;
  });
  return mesh::collect<std::int32_t>(form.cells(), [&](std::int64_t cell, std::vector<std::int32_t>& found) {
    if (is_one[cell] != 0) found.push_back(static_cast<std::int32_t>(cell));
  });
}

void for_each_cell_diffusion(const BilinearForm& form,
                             const std::function<void(std::int32_t, std::span<const double>)>& work) {
  visit_diffusion(
      form, [&](std::int32_t cell, std::span<const double>, std::span<const double> values) { work(cell, values); },
      [] { return true; });
}

}  // namespace femcg::operators

#include "operators/forms/cell_diffusion.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
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
  if (!form.constant_diffusion) return false;
  bool all_known = true;
#pragma omp parallel for schedule(static) reduction(&& : all_known)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    all_known = all_known && form.constant_diffusion(cell).has_value();
  return all_known;
}

/// The diffusion of each cell, known to be constant there.
std::vector<double> constants_of_cells(const BilinearForm& form) {
  std::vector<double> values = mesh::filled<double>(static_cast<std::size_t>(form.cells()));
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) values[cell] = *form.constant_diffusion(cell);
  return values;
}

/// The first value of each cell if all values of every cell are equal, else nothing.
std::optional<std::vector<double>> equal_in_cells(const std::vector<double>& values, std::size_t points) {
  std::vector<double> firsts(values.size() / points);
  for (std::size_t cell = 0; cell < firsts.size(); ++cell) {
    firsts[cell] = values[cell * points];
    if (!all_equal({values.data() + cell * points, points})) return std::nullopt;
  }
  return firsts;
}

/// As for_each_cell_diffusion, but stops once goes_on() is false.
template <class Work, class GoesOn>
void visit_diffusion(const BilinearForm& form, const Work& work, const GoesOn& goes_on) {
  const std::int32_t cells = form.cells();
  struct Scratch {
    CellsAtPoints at;
    std::vector<double> values = std::vector<double>(static_cast<std::size_t>(at.points()));
  };
  mesh::parallel_for(
      lane_groups(cells), [&] { return Scratch{CellsAtPoints(form.space->mesh(), form.quadrature)}; },
      [&](Scratch& scratch, std::int32_t group) {
        if (!goes_on()) return;
        const std::int32_t first = group * cell_lanes, count = std::min<std::int32_t>(cell_lanes, cells - first);
        scratch.at.move_to(first, count, true);
        for (int lane = 0; lane < count; ++lane) {
          form.diffusion(first + lane, scratch.at.positions(lane), scratch.values);
          work(first + lane, scratch.values);
        }
      });
}

}  // namespace

CellDiffusion diffusion_of_cells(const BilinearForm& form) {
  if (is_known_constant(form)) return {true, constants_of_cells(form)};
  const auto points = static_cast<std::size_t>(mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).size());
  std::vector<double> values = mesh::filled<double>(static_cast<std::size_t>(form.cells()) * points);
  for_each_cell_diffusion(form, [&](std::int32_t cell, std::span<const double> of_cell) {
    std::ranges::copy(of_cell, values.data() + static_cast<std::size_t>(cell) * points);
  });
  if (auto firsts = equal_in_cells(values, points)) return {true, *std::move(firsts)};
  return {false, std::move(values)};
}

bool all_equal(std::span<const double> values) {
  return std::ranges::all_of(values, [&](double value) { return value == values[0]; });
}

bool is_constant_in_cells(const BilinearForm& form) {
  if (is_known_constant(form)) return true;
  std::atomic<bool> varies = false;
  visit_diffusion(
      form,
      [&](std::int32_t, std::span<const double> of_cell) {
        if (!all_equal(of_cell)) varies = true;
      },
      [&] { return !varies; });
  return !varies;
}

std::vector<std::int32_t> cells_with_jumps(const BilinearForm& form, const JumpRange& range, Device device) {
  if (is_known_constant(form)) return {};
  if (device == Device::cuda && !form.diffusion_by_region.empty()) {
    const FactorInputs inputs = factor_inputs(form, device);
    return inputs.diffusion_per_point == 0 ? std::vector<std::int32_t>()
                                           : cuda_cells_with_jumps(inputs.diffusion, inputs.points, range);
  }
  std::vector<char> is_one(static_cast<std::size_t>(form.cells()), 0);
  for_each_cell_diffusion(form, [&](std::int32_t cell, std::span<const double> values) {
    is_one[cell] = range.contains(values.data(), static_cast<int>(values.size())) ? 1 : 0;
  });
  return mesh::collect<std::int32_t>(form.cells(), [&](std::int64_t cell, std::vector<std::int32_t>& found) {
    if (is_one[cell] != 0) found.push_back(static_cast<std::int32_t>(cell));
  });
}

void for_each_cell_diffusion(const BilinearForm& form,
                             const std::function<void(std::int32_t, std::span<const double>)>& work) {
  visit_diffusion(form, work, [] { return true; });
}

}  // namespace femcg::operators

#include "operators/forms/cell_diffusion.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "mesh/first_failure.hpp"
#include "mesh/geometry.hpp"
#include "mesh/quadrature.hpp"

namespace femcg::operators {

namespace {

/// The diffusion of each cell, if the form says that it is constant in all of them.
std::optional<std::vector<double>> constants_of_cells(const BilinearForm& form) {
  if (!form.constant_diffusion) return std::nullopt;
  std::vector<double> values(form.cells());
  bool all_known = true;
#pragma omp parallel for schedule(static) reduction(&& : all_known)
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    const std::optional<double> value = form.constant_diffusion(cell);
    all_known = all_known && value.has_value();
    values[cell] = value.value_or(0);
  }
  if (!all_known) return std::nullopt;
  return values;
}

/// The diffusion at the points of all cells.
std::vector<double> at_all_points(const BilinearForm& form, const mesh::Quadrature& rule) {
  const mesh::Mesh& mesh = form.space->mesh();
  const mesh::GeometryTables tables(mesh, rule.points);
  const auto points = static_cast<std::size_t>(rule.size());
  std::vector<double> values(static_cast<std::size_t>(form.cells()) * points);
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::optional<mesh::CellGeometry> geometry;
    failure.guard(mesh::FirstFailure::preparation, [&] { geometry.emplace(tables); });
#pragma omp for schedule(static)
    for (std::int32_t cell = 0; cell < form.cells(); ++cell)
      failure.guard(cell, [&] {
        geometry->move_to(mesh, cell);
        form.diffusion(cell, geometry->all_points(), {values.data() + static_cast<std::size_t>(cell) * points, points});
      });
  }
  failure.rethrow();
  return values;
}

/// The first value of each cell, if its others are the same in all of them.
std::optional<std::vector<double>> equal_in_cells(const std::vector<double>& values, std::size_t points) {
  std::vector<double> firsts(values.size() / points);
  for (std::size_t cell = 0; cell < firsts.size(); ++cell) {
    firsts[cell] = values[cell * points];
    for (std::size_t q = 1; q < points; ++q)
      if (values[cell * points + q] != firsts[cell]) return std::nullopt;
  }
  return firsts;
}

}  // namespace

CellDiffusion diffusion_of_cells(const BilinearForm& form) {
  if (auto known = constants_of_cells(form)) return {true, *std::move(known)};
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  std::vector<double> values = at_all_points(form, rule);
  if (auto firsts = equal_in_cells(values, static_cast<std::size_t>(rule.size()))) return {true, *std::move(firsts)};
  return {false, std::move(values)};
}

}  // namespace femcg::operators

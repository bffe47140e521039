// The host's part of cuda_cell_factors: tables, and the diffusion at the quadrature points.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "mesh/first_failure.hpp"
#include "mesh/geometry.hpp"
#include "operators/bilinear_form.hpp"
#include "operators/cuda_cell_factors.hpp"

namespace femcg::operators {

namespace {

Vector<double> on(Device device, std::span<const double> numbers) {
  Vector<double> vector(static_cast<std::int64_t>(numbers.size()), device);
  copy_bytes(numbers.data(), Device::host, vector.data(), device, vector.bytes());
  return vector;
}

/// points x axes x functions.
std::vector<double> joined(const std::vector<Eigen::MatrixXd>& gradients) {
  std::vector<double> numbers;
  for (Eigen::Index q = 0; q < gradients[0].rows(); ++q)
    for (const Eigen::MatrixXd& along : gradients)
      for (Eigen::Index a = 0; a < along.cols(); ++a) numbers.push_back(along(q, a));
  return numbers;
}

bool all_equal(std::span<const double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number == numbers[0]; });
}

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

void set_diffusion(FactorInputs& inputs, const BilinearForm& form, const mesh::Quadrature& rule, Device device) {
  const std::size_t points = static_cast<std::size_t>(rule.size());
  std::optional<std::vector<double>> of_cells = constants_of_cells(form);
  if (!of_cells) {
    const std::vector<double> values = at_all_points(form, rule);
    of_cells.emplace(form.cells());
    for (std::size_t cell = 0; cell < of_cells->size(); ++cell) {
      if (!all_equal({values.data() + cell * points, points})) {
        inputs.diffusion = on(device, values);
        inputs.diffusion_a_cell = rule.size();
        inputs.diffusion_a_point = 1;
        return;
      }
      (*of_cells)[cell] = values[cell * points];
    }
  }
  if (all_equal(*of_cells)) {
    inputs.diffusion = on(device, {of_cells->data(), 1});
    return;
  }
  inputs.diffusion = on(device, *of_cells);
  inputs.diffusion_a_cell = 1;
}

}  // namespace

FactorInputs FactorInputs::at_first_point() const {
  const Device device = gradients.device();
  FactorInputs first;
  first.dimension = dimension;
  first.points = 1;
  first.nodes = nodes;
  first.gradients = Vector<double>(std::int64_t{dimension} * nodes, device);
  copy_bytes(gradients.data(), device, first.gradients.data(), device, first.gradients.bytes());
  first.weights = on(device, std::vector<double>{1.0});
  first.coordinates = copied(coordinates, device);
  first.cell_nodes = copied(cell_nodes, device);
  first.diffusion = copied(diffusion, device);
  first.diffusion_a_cell = diffusion_a_cell;
  return first;
}

FactorInputs factor_inputs(const BilinearForm& form, Device device) {
  const mesh::Mesh& mesh = form.space->mesh();
  const mesh::Quadrature rule = mesh::cell_quadrature(mesh.shape, form.quadrature);
  const mesh::GeometryTables tables(mesh, rule.points);
  FactorInputs inputs;
  inputs.dimension = mesh.dimension();
  inputs.points = rule.size();
  inputs.nodes = mesh.nodes_per_cell();
  inputs.gradients = on(device, joined(tables.gradients));
  inputs.weights = on(device, {rule.weights.data(), static_cast<std::size_t>(rule.size())});
  inputs.coordinates = on(device, mesh.coordinates);
  inputs.cell_nodes = Vector<std::int32_t>(static_cast<std::int64_t>(mesh.cell_nodes.size()), device);
  copy_bytes(mesh.cell_nodes.data(), Device::host, inputs.cell_nodes.data(), device, inputs.cell_nodes.bytes());
  set_diffusion(inputs, form, rule, device);
  return inputs;
}

Vector<double> basis_gradients(const BilinearForm& form, Device device) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  return on(device, joined(form.space->basis().gradients(rule.points)));
}

}  // namespace femcg::operators

// Host part of cuda_cell_factors: tables, and copies to the device.

#include <Eigen/Dense>
#include <cstddef>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/backend/copied_values.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/cell_factors.hpp"

namespace femcg::operators {

namespace {

Vector<double> on(Device device, std::span<const double> numbers) { return copied(numbers, device); }

/// Joins gradients to one array [points][axes][functions].
std::vector<double> joined(const std::vector<Eigen::MatrixXd>& gradients) {
  std::vector<double> numbers;
  for (Eigen::Index q = 0; q < gradients[0].rows(); ++q)
    for (const Eigen::MatrixXd& along : gradients)
      for (Eigen::Index a = 0; a < along.cols(); ++a) numbers.push_back(along(q, a));
  return numbers;
}

void set_diffusion(FactorInputs& inputs, const BilinearForm& form, const mesh::GeometryTables& tables, Device device) {
  const bool axisymmetric = form.space->mesh().axisymmetric;
  if (device == Device::cuda && !form.diffusion.by_region.empty() && !axisymmetric) {
    const Vector<double> values = on(device, joined({tables.values}));
    if (cuda_set_diffusion(form, values, inputs)) return;
  }
  const CellDiffusion diffusion = axisymmetric ? diffusion_times_circumference(form) : diffusion_of_cells(form);
  const std::vector<double>& values = diffusion.values;
  const int entries = form.diffusion.entries;
  inputs.diffusion_entries = entries;
  if (diffusion.constant_in_cells && all_equal(values, entries)) {
    inputs.diffusion = on(device, {values.data(), static_cast<std::size_t>(entries)});
    return;
  }
  inputs.diffusion = on(device, values);
  inputs.diffusion_per_cell = (diffusion.constant_in_cells ? 1 : inputs.points) * entries;
  inputs.diffusion_per_point = diffusion.constant_in_cells ? 0 : entries;
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
  first.cells = cells;
  first.coordinates = copied(coordinates, device);
  first.cell_nodes = copied(cell_nodes, device);
  first.box = box;
  first.diffusion_entries = diffusion_entries;
  first.diffusion = copied(diffusion, device);
  first.diffusion_per_cell = diffusion_per_cell;
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
  inputs.cells = mesh.cell_count();
  inputs.coordinates = on(device, mesh.coordinates);
  inputs.cell_nodes = copied(std::span<const std::int32_t>(mesh.cell_nodes), device);
  if (mesh.box) inputs.box = *mesh.box;
  set_diffusion(inputs, form, tables, device);
  return inputs;
}

Vector<double> basis_gradients(const BilinearForm& form, Device device) {
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  return on(device, joined(form.space->basis().gradients(rule.points)));
}

}  // namespace femcg::operators

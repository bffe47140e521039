// Host part of integrals on the GPU: tables.

#include "operators/forms/check/cell_integrals.hpp"

#include <Eigen/Dense>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/backend/copied_values.hpp"
#include "operators/forms/check/product_numbers.hpp"

namespace femcg::operators {

namespace {

BilinearForm form_of(const mesh::FunctionSpace& space, int quadrature) {
  BilinearForm form;
  form.space = &space;
  form.quadrature = quadrature;
  form.diffusion.constant = [](std::int32_t) { return 1.0; };
  return form;
}

/// Copies a matrix [points][functions] to the GPU, column by column.
Vector<double> on_gpu(const Eigen::MatrixXd& of) {
  return copied(std::span<const double>(of.data(), static_cast<std::size_t>(of.size())), Device::cuda);
}

mesh::Quadrature rule_of(const mesh::FunctionSpace& space, int quadrature) {
  return mesh::cell_quadrature(space.mesh().shape, quadrature);
}

}  // namespace

FunctionOnGpu::FunctionOnGpu(const mesh::FunctionSpace& space, int quadrature)
    : space_(&space), tables_(space, quadrature), cell_dofs_(copied(space.listed_dofs(), Device::cuda)) {
  if (space.grid() != nullptr) grid_numbers_ = copied(space.grid()->numbers(), Device::cuda);
}

std::int64_t FunctionOnGpu::bytes(const mesh::FunctionSpace& space, int quadrature) {
  return space.dof_count() * std::int64_t{sizeof(double)} +
         std::ssize(space.listed_dofs()) * std::int64_t{sizeof(std::int32_t)} +
         IntegralTables::bytes(space, quadrature);
}

IntegralTables::IntegralTables(const mesh::FunctionSpace& space, int quadrature)
    : geometry(factor_inputs(form_of(space, quadrature), Device::cuda)),
      values(on_gpu(space.basis().values(rule_of(space, quadrature).points))) {}

std::int64_t IntegralTables::bytes(const mesh::FunctionSpace& space, int quadrature) {
  const mesh::Mesh& mesh = space.mesh();
  constexpr std::int64_t number = sizeof(std::int32_t), value = sizeof(double), most_sums = 4;
  const std::int64_t cells = mesh.cell_count();
  const std::int64_t of_tables = mesh::cell_quadrature(mesh.shape, quadrature).size() *
                                 ((mesh.dimension() + 1) * (space.dofs_per_cell() + mesh.nodes_per_cell()));
  return mesh.bytes_of_nodes() + value * (most_sums * cells + of_tables) + number * cells;
}

ErrorTables::ErrorTables(const mesh::FunctionSpace& space, int quadrature)
    : IntegralTables(space, quadrature),
      positions(on_gpu(mesh::GeometryTables(space.mesh(), rule_of(space, quadrature).points).values)),
      slopes(
          copied(std::span<const double>(slopes_of_functions(form_of(space, quadrature), SlopeOrder::functions_points)),
                 Device::cuda)) {}

}  // namespace femcg::operators

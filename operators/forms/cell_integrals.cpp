// The host's part of cuda_error_squares: tables.

#include "operators/forms/error_squares.hpp"

#include <Eigen/Dense>

#include "mesh/geometry.hpp"
#include "mesh/lagrange_basis.hpp"
#include "mesh/quadrature.hpp"
#include "operators/backend/copied_numbers.hpp"
#include "operators/forms/product_numbers.hpp"

namespace femcg::operators {

namespace {

BilinearForm form_of(const mesh::FunctionSpace& space, int quadrature) {
  BilinearForm form;
  form.space = &space;
  form.quadrature = quadrature;
  form.constant_diffusion = [](std::int32_t) { return 1.0; };
  return form;
}

/// points x functions, column by column.
Vector<double> on_gpu(const Eigen::MatrixXd& of) {
  return copied(std::span<const double>(of.data(), static_cast<std::size_t>(of.size())), Device::cuda);
}

}  // namespace

ErrorTables::ErrorTables(const mesh::FunctionSpace& of, int quadrature)
    : space(&of), geometry(factor_inputs(form_of(of, quadrature), Device::cuda)) {
  const mesh::Quadrature rule = mesh::cell_quadrature(of.mesh().shape, quadrature);
  positions = on_gpu(mesh::GeometryTables(of.mesh(), rule.points).values);
  values = on_gpu(of.basis().values(rule.points));
  slopes = copied(std::span<const double>(slopes_of_functions(form_of(of, quadrature), SlopeOrder::functions_points)),
                  Device::cuda);
}

std::int64_t ErrorTables::bytes(const mesh::FunctionSpace& space, int quadrature) {
  const mesh::Mesh& mesh = space.mesh();
  constexpr std::int64_t number = sizeof(std::int32_t), value = sizeof(double), squares = 4;
  const std::int64_t cells = mesh.cell_count();
  const std::int64_t of_tables = mesh::cell_quadrature(mesh.shape, quadrature).size() *
                                 ((mesh.dimension() + 1) * (space.dofs_per_cell() + mesh.nodes_per_cell()));
  return mesh.bytes_of_nodes() + value * (squares * cells + space.dof_count() + of_tables) +
         number * cells * (1 + space.dofs_per_cell());
}

}  // namespace femcg::operators

#include "solver/prediction/training/benchmark_boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace femcg::solver {

using operators::BilinearForm;
using operators::CsrMatrix;

std::string BenchmarkBox::mesh_text() const {
  const int d = mesh::dimension(shape);
  const auto across = static_cast<int>(std::lround(std::max(1.0, std::pow(dofs, 1.0 / d) / degree)));
  std::string text = fmt::format("{{cells: [{0}, {0}{1}], cell: {2}", across, d == 3 ? fmt::format(", {}", across) : "",
                                 mesh::name(shape));
  if (distort > 0) text += fmt::format(", distort: {}", distort);
  return text + "}";
}

Case BenchmarkBox::resolved() const {
  Case made = read_mesh_case({{"mesh.box", mesh_text()}});
  made.degree = degree;
  return made;
}

double entries_of_row(mesh::CellShape shape, int degree) {
  constexpr std::array<std::array<double, mesh::max_degree>, 4> entries{
      {{9, 16, 25, 36}, {7, 11, 17, 23}, {27, 64, 125, 216}, {15, 28, 50, 82}}};  // in the order of CellShape
  return entries[static_cast<std::size_t>(shape)][static_cast<std::size_t>(degree - 1)];
}

BilinearForm laplacian(const mesh::FunctionSpace& space, bool constrained) {
  BilinearForm form;
  form.space = &space;
  form.quadrature = space.degree() + 1;
  form.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
    std::ranges::fill(values, 1.0);
  };
  form.diffusion.constant = [](std::int32_t) { return std::optional(1.0); };
  const std::vector<double> points = constrained ? space.dof_points() : std::vector<double>();
  const std::size_t of_point = points.size() / static_cast<std::size_t>(space.dof_count());
  for (std::int32_t dof = 0; dof < space.dof_count(); ++dof)
    form.unknown_of_dof.push_back(
        constrained && points[static_cast<std::size_t>(dof) * of_point] < 1e-9 ? -1 : form.unknowns++);
  return form;
}

CsrMatrix<double> matrix_of_ones(const BilinearForm& form) {
  CsrMatrix<double> matrix = operators::sparsity_pattern(form);
  matrix.values = operators::Vector<double>(matrix.nonzeros());
  std::ranges::fill(matrix.values.span(), 1.0);
  return matrix;
}

}  // namespace femcg::solver

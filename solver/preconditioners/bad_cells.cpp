#include "solver/preconditioners/bad_cells.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <span>

#include "operators/forms/element_matrices.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::CellEvaluator;

std::vector<std::int32_t> bad_cells(const BilinearForm& form, const std::vector<std::int32_t>& suspects,
                                    std::span<const double> diagonal) {
  constexpr double least_part = 0.25;
  constexpr double most_cells = 0.1;  // fraction of all cells
  CellEvaluator evaluator(form);
  std::vector<double> entries(static_cast<std::size_t>(evaluator.dofs()));
  /// Calls work(unknown, K_ii) for the unknowns of a cell.
  const auto for_entries = [&](std::int32_t cell, const auto& work) {
    evaluator.move_to(cell);
    evaluator.diagonal(entries);
    form.for_nodes(cell, [&](int i, std::int32_t unknown) {
      if (unknown >= 0) work(unknown, entries[static_cast<std::size_t>(i)]);
    });
  };
  if (static_cast<double>(suspects.size()) > most_cells * form.cells()) return {};
  std::vector<double> of_suspects(diagonal.size(), 0.0);  // part of the diagonal due to suspect cells
  for (const std::int32_t cell : suspects)
    for_entries(cell, [&](std::int32_t i, double entry) { of_suspects[i] += entry; });
  std::vector<std::int32_t> found;
  for (const std::int32_t cell : suspects) {
    int unknowns = 0;
    for_entries(cell, [&](std::int32_t i, double) { unknowns += of_suspects[i] >= least_part * diagonal[i] ? 1 : 0; });
    if (unknowns > 1) found.push_back(cell);
  }
  return found;
}

namespace {

/// Maps edges, [d][edges], to coordinates in which the diffusion, a tensor, is the identity: L^-1 edges with L L' =
/// kappa.
void to_isotropic(const operators::DiffusionValue& diffusion, Eigen::MatrixXd& edges) {
  const auto d = static_cast<int>(edges.rows());
  Eigen::MatrixXd tensor(d, d);
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j) tensor(i, j) = diffusion.entries[operators::upper_index(i, j, d)];
  tensor.llt().matrixL().solveInPlace(edges);
}

}  // namespace

double stretching(const BilinearForm& form) {
  constexpr std::int32_t most_cells = 512;
  const mesh::Mesh& mesh = form.space->mesh();
  const int d = mesh.dimension();
  const bool is_tensor = mesh::is_tensor(mesh.shape);
  Eigen::Matrix3d regular = Eigen::Matrix3d::Identity();  // edges of the regular cell from its first vertex
  if (!is_tensor) regular << 1, 0.5, 0.5, 0, std::sqrt(3.0) / 2, std::sqrt(3.0) / 6, 0, 0, std::sqrt(2.0 / 3);
  const Eigen::MatrixXd to_regular = regular.topLeftCorner(d, d).inverse();
  const std::vector<int> vertices = mesh::Lattice(mesh.shape, mesh.order).vertex_nodes();
  std::vector<double> ratios;
  for (std::int32_t cell = 0; cell < mesh.cell_count(); cell += std::max(1, mesh.cell_count() / most_cells)) {
    const mesh::CellNodes nodes = mesh.nodes(cell);
    Eigen::MatrixXd edges = Eigen::MatrixXd::Zero(d, d);  // for tensor cells, the means along each axis
    const auto count = static_cast<int>(vertices.size());
    for (int v = 0; v < count; ++v) {
      const std::array<double, 3> point = mesh.point(nodes[vertices[v]]);
      for (int axis = 0; axis < d; ++axis) {
        const double sign = is_tensor       ? ((v >> axis & 1) != 0 ? 2.0 : -2.0) / count
                            : v == 0        ? -1
                            : v == axis + 1 ? 1
                                            : 0;
        edges.col(axis) += sign * Eigen::Map<const Eigen::VectorXd>(point.data(), d);
      }
    }
    if (form.diffusion.is_tensor()) to_isotropic(diffusion_at_centre(form, cell), edges);
    const Eigen::VectorXd extents = Eigen::JacobiSVD<Eigen::MatrixXd>(edges * to_regular).singularValues();
    if (extents(d - 1) > 0) ratios.push_back(extents(0) / extents(d - 1));
  }
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + std::ssize(ratios) / 2;
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

}  // namespace femcg::solver

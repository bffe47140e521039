#include "solver/problem/errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "mesh/first_failure.hpp"
#include "mesh/lagrange_basis.hpp"
#include "operators/forms/cells_at_points.hpp"
#include "operators/forms/point_tables.hpp"

namespace femcg::solver {

namespace {

using operators::CellLanes;

constexpr int most_points = 16;  // a direction

/// The squares of the errors of a few cells at a time, one a lane. Keeps scratch memory: one a thread.
class CellErrors {
 public:
  CellErrors(const mesh::FunctionSpace& space, int quadrature, const FieldOnRegions& exact,
             std::span<const double> dofs)
      : CellErrors(space, quadrature, exact, dofs,
                   mesh::LagrangeBasis(space.mesh().shape, space.degree() + 3, mesh::NodeFamily::gauss_lobatto)) {}

  /// Adds those of the cells [first, last).
  void add(std::int32_t first, std::int32_t last, Errors& squares) {
    for (std::int32_t cell = first; cell < last; cell += operators::cell_lanes)
      add_lanes(cell, std::min<std::int32_t>(operators::cell_lanes, last - cell), squares);
  }

 private:
  CellErrors(const mesh::FunctionSpace& space, int quadrature, const FieldOnRegions& exact,
             std::span<const double> dofs, const mesh::LagrangeBasis& finer)
      : space_(&space),
        exact_(&exact),
        dofs_(dofs),
        d_(space.mesh().dimension()),
        cells_(space.mesh(), quadrature),
        basis_(space.basis(), quadrature),
        finer_(finer, quadrature),
        to_finer_nodes_(mesh::LagrangeBasis(space.mesh().shape, space.mesh().order, mesh::NodeFamily::equispaced),
                        finer),
        scratch_(static_cast<std::size_t>(
            std::max({basis_.scratch_size(), finer_.scratch_size(), to_finer_nodes_.scratch_size()}))),
        coefficients_(static_cast<std::size_t>(basis_.functions())),
        exact_nodes_(static_cast<std::size_t>(finer_.functions())),
        finer_positions_(static_cast<std::size_t>(d_ * finer_.functions())),
        values_(static_cast<std::size_t>(cells_.points())),
        exact_values_(values_.size()),
        slopes_(static_cast<std::size_t>(d_) * values_.size()),
        exact_slopes_(slopes_.size()),
        points_of_lane_(3 * exact_nodes_.size(), 0.0),
        of_points_(values_.size()),
        of_nodes_(exact_nodes_.size()) {}

  void add_lanes(std::int32_t first, int count, Errors& squares) {
    cells_.move_to(first, count, true);
    for (int axis = 0; axis < d_; ++axis)
      to_finer_nodes_.values(cells_.nodes(axis).data(), finer_positions_.data() + axis * finer_.functions(),
                             scratch_.data());
    for (int lane = 0; lane < count; ++lane) evaluate_exact(lane);
    for (int lane = 0; lane < operators::cell_lanes; ++lane) {
      const auto of_cell = space_->dofs(cells_.cell(lane));
      for (std::size_t a = 0; a < coefficients_.size(); ++a) coefficients_[a][lane] = dofs_[of_cell[a]];
    }
    basis_.values(coefficients_.data(), values_.data(), scratch_.data());
    basis_.gradients(coefficients_.data(), slopes_.data(), scratch_.data());
    finer_.gradients(exact_nodes_.data(), exact_slopes_.data(), scratch_.data());
    d_ == 2 ? add_points<2>(count, squares) : add_points<3>(count, squares);
  }

  /// The exact solution at the points of a lane's cell, and at the nodes of its interpolant.
  void evaluate_exact(int lane) {
    const Expression& exact = exact_->of_cell(cells_.cell(lane));
    exact.evaluate(cells_.positions(lane), of_points_);
    for (std::size_t q = 0; q < of_points_.size(); ++q) exact_values_[q][lane] = of_points_[q];
    for (std::size_t a = 0; a < of_nodes_.size(); ++a)
      for (int axis = 0; axis < d_; ++axis)
        points_of_lane_[3 * a + axis] = finer_positions_[axis * of_nodes_.size() + a][lane];
    exact.evaluate(points_of_lane_, of_nodes_);
    for (std::size_t a = 0; a < of_nodes_.size(); ++a) exact_nodes_[a][lane] = of_nodes_[a];
  }

  template <int d>
  void add_points(int count, Errors& squares) {
    CellLanes l2{}, h1{}, norm_l2{}, norm_h1{};
    const auto points = static_cast<std::size_t>(cells_.points());
    for (std::size_t q = 0; q < points; ++q) {
      CellLanes c[d][d];  // |J| J^-1
      const CellLanes determinant = cells_.cofactors(static_cast<int>(q), c);
      const double weight = cells_.weights()[static_cast<Eigen::Index>(q)];
      const CellLanes error = values_[q] - exact_values_[q], measure = weight * determinant;
      l2 += measure * error * error;
      norm_l2 += measure * exact_values_[q] * exact_values_[q];
      CellLanes of_error{}, of_exact{};
      for (int i = 0; i < d; ++i) {
        CellLanes slope{}, exact_slope{};
        for (int axis = 0; axis < d; ++axis) {
          const CellLanes along = exact_slopes_[axis * points + q];
          exact_slope += c[axis][i] * along;
          slope += c[axis][i] * (along - slopes_[axis * points + q]);
        }
        of_error += slope * slope;
        of_exact += exact_slope * exact_slope;
      }
      const CellLanes scale = weight / determinant;
      h1 += scale * of_error;
      norm_h1 += scale * of_exact;
    }
    for (int lane = 0; lane < count; ++lane) {
      squares.l2 += l2[lane];
      squares.h1 += h1[lane];
      squares.norm_l2 += norm_l2[lane];
      squares.norm_h1 += norm_h1[lane];
    }
  }

  const mesh::FunctionSpace* space_;
  const FieldOnRegions* exact_;
  std::span<const double> dofs_;
  int d_;
  operators::CellsAtPoints cells_;
  operators::PointTables basis_, finer_;   ///< of u_h, and of the interpolant of u
  operators::PointTables to_finer_nodes_;  ///< from the nodes of the mesh to those of the interpolant
  std::vector<CellLanes> scratch_, coefficients_, exact_nodes_;
  std::vector<CellLanes> finer_positions_;  ///< axis x nodes of the interpolant
  std::vector<CellLanes> values_, exact_values_;
  std::vector<CellLanes> slopes_, exact_slopes_;  ///< reference axis x points
  std::vector<double> points_of_lane_, of_points_, of_nodes_;
};

}  // namespace

/// Sums of blocks of cells, and then of these: the same for any number of threads.
Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs) {
  constexpr std::int32_t block_cells = 256;
  const mesh::FunctionSpace& space = *problem.form().space;
  const mesh::Mesh& mesh = space.mesh();
  const FieldOnRegions field(exact, "exact", mesh, std::nullopt);
  const int quadrature = std::min(problem.form().quadrature + 2, most_points);
  const std::int32_t cells = mesh.cell_count(), blocks = cells / block_cells + (cells % block_cells > 0 ? 1 : 0);
  std::vector<Errors> parts(static_cast<std::size_t>(blocks));
  mesh::FirstFailure failure;
#pragma omp parallel
  {
    std::optional<CellErrors> errors;
    failure.guard(mesh::FirstFailure::preparation, [&] { errors.emplace(space, quadrature, field, dofs); });
#pragma omp for schedule(static)
    for (std::int32_t block = 0; block < blocks; ++block)
      failure.guard(block, [&] {
        const std::int32_t first = block * block_cells;
        errors->add(first, first + std::min(block_cells, cells - first), parts[static_cast<std::size_t>(block)]);
      });
  }
  failure.rethrow();
  std::array<double, 4> squares{};
  for (const Errors& part : parts) {
    squares[0] += part.l2;
    squares[1] += part.h1;
    squares[2] += part.norm_l2;
    squares[3] += part.norm_h1;
  }
  problem.shared().sum(squares);
  return {std::sqrt(squares[0]), std::sqrt(squares[1]), std::sqrt(squares[2]), std::sqrt(squares[3])};
}

}  // namespace femcg::solver

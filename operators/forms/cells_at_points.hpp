#pragma once

#include <numbers>
#include <span>
#include <vector>

#include "mesh/affine_cells.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/mesh.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/forms/programs/point_tables.hpp"

namespace femcg::operators {

/// Geometry of a few cells at the points of a quadrature, one cell a lane; for affine cells that of one point. Keeps
/// scratch memory: one object a thread.
class CellsAtPoints {
 public:
  CellsAtPoints(const mesh::Mesh& mesh, int quadrature);

  int points() const { return tables_.points(); }
  /// Moves to `count` cells from `first` on; lanes beyond them repeat the last cell. Points in space are computed only
  /// if `with_positions`.
  void move_to(std::int32_t first, int count, bool with_positions);
  /// The cell of a lane.
  std::int32_t cell(int lane) const { return first_ + (lane < count_ ? lane : count_ - 1); }
  int count() const { return count_; }
  /// True if all of the cells are affine, to the last digits of their nodes, so that J is constant in each cell, and
  /// are not those of a body of revolution, so that weight(q) |J| / w_q is, too.
  bool affine() const { return affine_; }

  /// C = |J| J^-1 and |J| at point q.
  template <int d>
  CellLanes cofactors(int q, CellLanes (&c)[d][d]) const;
  /// Weight w_q, times 2 pi x at point q in a body of revolution.
  CellLanes weight(int q) const {
    if (!mesh_->axisymmetric) return CellLanes{} + weights_[q];
    return 2 * std::numbers::pi * weights_[q] * positions_[static_cast<std::size_t>(q)];
  }
  /// weight(q) |J| at all points.
  std::span<const CellLanes> measures();
  /// The points of a lane's cell in space, [count][3].
  std::span<const double> positions(int lane);
  /// The quadrature's.
  const Eigen::VectorXd& weights() const { return weights_; }

 private:
  void gather_nodes();
  bool are_affine() const;
  template <int d>
  void compute_measures();

  const mesh::Mesh* mesh_;
  int d_;
  mesh::AffineCells shape_;  ///< for the test for affine cells
  PointTables tables_;
  Eigen::MatrixXd points_;  ///< in the reference cell, [d][points]
  Eigen::VectorXd weights_;
  std::int32_t first_ = 0;
  int count_ = 0;
  bool affine_ = false;
  std::vector<CellLanes> scratch_, measures_;
  std::vector<double> of_cell_;       ///< nodes of one cell
  std::vector<CellLanes> nodes_;      ///< [axis in space][nodes]
  std::vector<CellLanes> jacobians_;  ///< [axis in space][reference axis][points]; for affine cells one point
  std::vector<CellLanes> positions_;  ///< [axis in space][points]
  std::vector<double> of_lane_;
};

template <int d>
inline CellLanes CellsAtPoints::cofactors(int q, CellLanes (&c)[d][d]) const {
  CellLanes m[d][d];  // m_ij = dx_i / dxi_j
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j) m[i][j] = jacobians_[(i * d + j) * points() + (affine_ ? 0 : q)];
  if constexpr (d == 2) {
    c[0][0] = m[1][1];
    c[0][1] = -m[0][1];
    c[1][0] = -m[1][0];
    c[1][1] = m[0][0];
    return m[0][0] * c[0][0] + m[0][1] * c[1][0];
  } else {
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
        c[j][i] = m[i1][j1] * m[i2][j2] - m[i1][j2] * m[i2][j1];
      }
    return m[0][0] * c[0][0] + m[0][1] * c[1][0] + m[0][2] * c[2][0];
  }
}

/// The diffusion of a form at the points of a few cells.
class DiffusionAtPoints {
 public:
  DiffusionAtPoints(const BilinearForm& form, int points)
      : form_(&form), values_(static_cast<std::size_t>(points * form.diffusion.entries)), of_cell_(values_.size()) {}

  /// True if the diffusion is known to be constant in each of `count` cells from `first` on, so that it needs no
  /// points.
  bool constant(std::int32_t first, int count) const;
  void move_to(CellsAtPoints& cells, bool constant);
  bool is_tensor() const { return form_->diffusion.is_tensor(); }
  /// The entries at point q.
  const CellLanes* operator[](int q) const { return values_.data() + std::ptrdiff_t{q} * form_->diffusion.entries; }

 private:
  const BilinearForm* form_;
  std::vector<CellLanes> values_;  ///< [points][entries]
  std::vector<double> of_cell_;
};

/// D = w |J| J^-1 kappa J^-T of a form at the points of a few cells. Keeps scratch memory: one object a thread.
class FactorsAtPoints {
 public:
  explicit FactorsAtPoints(const BilinearForm& form);

  int points() const { return cells_.points(); }
  int entries() const { return entries_; }
  void move_to(std::int32_t first, int count);
  /// True if D / w is known to be the same at all points of each cell: affine cells with constant diffusion.
  bool constant() const { return constant_; }
  /// [entries][points], entries of the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12 22).
  std::span<const CellLanes> factors() const { return factors_; }

 private:
  template <int d>
  void find_factors();

  int entries_;
  bool constant_ = false;
  CellsAtPoints cells_;
  DiffusionAtPoints diffusion_;
  std::vector<CellLanes> factors_;
};

/// Calls work(at, first, count) for a few cells at a time, in parallel, with `at` moved to them.
template <class Work>
void for_factors(const BilinearForm& form, const Work& work) {
  mesh::parallel_for(
      lane_groups(form.cells()), [&] { return FactorsAtPoints(form); },
      [&](FactorsAtPoints& at, std::int32_t group) {
        const std::int32_t first = group * cell_lanes, count = std::min<std::int32_t>(cell_lanes, form.cells() - first);
        at.move_to(first, count);
        work(at, first, count);
      });
}

/// True if a symmetric d x d matrix, its upper triangle row by row, is diagonal up to rounding of the nodes.
bool is_diagonal(std::span<const double> upper, int d);

/// True if all D are diagonal, as on boxes along the axes of the diffusion.
bool has_diagonal_factors(const BilinearForm& form);

}  // namespace femcg::operators

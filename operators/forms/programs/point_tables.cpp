#include "operators/forms/programs/point_tables.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <utility>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"

namespace femcg::operators {

namespace {

/// to[o, i, k] (+)= sum_j table[i, j] from[o, j, k] for o < outer and k < inner; `terms` is the number of j, 0 if it is
/// known at run time only.
template <int terms>
void contract_terms(const Table& table, const CellLanes* from, int outer, int inner, CellLanes* to, bool add) {
  const int columns = terms > 0 ? terms : table.columns;
  for (int o = 0; o < outer; ++o)
    for (int k = 0; k < inner; ++k) {
      const CellLanes* in = from + o * columns * inner + k;
      CellLanes* out = to + o * table.rows * inner + k;
      if constexpr (terms > 0) {
        CellLanes numbers[terms];
        for (int j = 0; j < terms; ++j) numbers[j] = in[j * inner];
        for (int i = 0; i < table.rows; ++i) {
          const double* row = table.entries.data() + i * terms;
          CellLanes sum = add ? out[i * inner] : CellLanes{};
          for (int j = 0; j < terms; ++j) sum += row[j] * numbers[j];
          out[i * inner] = sum;
        }
      } else {
        for (int i = 0; i < table.rows; ++i) {
          const double* row = table.entries.data() + i * columns;
          CellLanes sum = add ? out[i * inner] : CellLanes{};
          for (int j = 0; j < columns; ++j) sum += row[j] * in[j * inner];
          out[i * inner] = sum;
        }
      }
    }
}

void contract(const Table& table, const CellLanes* from, int outer, int inner, CellLanes* to, bool add = false) {
  switch (table.columns) {
    case 2:
      return contract_terms<2>(table, from, outer, inner, to, add);
    case 3:
      return contract_terms<3>(table, from, outer, inner, to, add);
    case 4:
      return contract_terms<4>(table, from, outer, inner, to, add);
    case 5:
      return contract_terms<5>(table, from, outer, inner, to, add);
    case 6:
      return contract_terms<6>(table, from, outer, inner, to, add);
    case 7:
      return contract_terms<7>(table, from, outer, inner, to, add);
    case 8:
      return contract_terms<8>(table, from, outer, inner, to, add);
    default:
      return contract_terms<0>(table, from, outer, inner, to, add);
  }
}

/// The nodes of a line of a tensor cell.
Eigen::VectorXd nodes_of_line(const mesh::LagrangeBasis& basis) {
  return basis.nodes().row(0).head(basis.degree() + 1).transpose();
}

/// Values and derivatives of a line's basis functions at points of it, [points][functions].
std::pair<Eigen::MatrixXd, Eigen::MatrixXd> on_line(const mesh::LagrangeBasis& basis, const Eigen::VectorXd& points) {
  const Eigen::VectorXd nodes = nodes_of_line(basis);
  return {mesh::line_values(nodes, points), mesh::line_derivatives(nodes, points)};
}

Eigen::VectorXd gauss_points(int quadrature) { return mesh::gauss_line(quadrature).points.row(0).transpose(); }

int cube(int n) { return n * n * n; }

}  // namespace

Table::Table(const Eigen::MatrixXd& from)
    : rows(static_cast<int>(from.rows())), columns(static_cast<int>(from.cols())), entries(from.size()) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) entries[i * columns + j] = from(i, j);
}

Table Table::transposed() const {
  Table other(*this);
  std::swap(other.rows, other.columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) other.entries[j * rows + i] = entries[i * columns + j];
  return other;
}

PointTables::PointTables(const mesh::LagrangeBasis& basis, int quadrature)
    : PointTables(basis, mesh::is_tensor(basis.shape()) ? Eigen::MatrixXd(gauss_points(quadrature))
                                                        : mesh::cell_quadrature(basis.shape(), quadrature).points) {}

PointTables::PointTables(const mesh::LagrangeBasis& basis, const Eigen::MatrixXd& points)
    : d_(mesh::dimension(basis.shape())), tensor_(mesh::is_tensor(basis.shape())), functions_(basis.size()) {
  if (tensor_) {
    const auto [values, slopes] = on_line(basis, points.col(0));
    values_ = Table(values);
    slopes_.emplace_back(slopes);
  } else {
    values_ = Table(basis.values(points));
    for (const Eigen::MatrixXd& gradient : basis.gradients(points)) slopes_.emplace_back(gradient);
  }
  transposed_values_ = values_.transposed();
  for (const Table& slope : slopes_) transposed_slopes_.push_back(slope.transposed());
  points_ = values_.rows;
  for (int axis = 1; tensor_ && axis < d_; ++axis) points_ *= values_.rows;
}

int PointTables::scratch_size() const { return tensor_ ? 5 * cube(std::max(values_.rows, values_.columns)) : 0; }

void PointTables::values(const CellLanes* of, CellLanes* at, CellLanes* scratch) const {
  if (!tensor_) return contract(values_, of, 1, 1, at);
  const int n = values_.columns, q = values_.rows, all = q * std::max(n, q) * std::max(n, q);
  CellLanes *first = scratch, *second = scratch + all;
  contract(values_, of, d_ == 3 ? n * n : n, 1, first);
  contract(values_, first, d_ == 3 ? n : 1, q, d_ == 3 ? second : at);
  if (d_ == 3) contract(values_, second, 1, q * q, at);
}

void PointTables::gradients(const CellLanes* of, CellLanes* at, CellLanes* scratch) const {
  if (!tensor_) {
    for (int axis = 0; axis < d_; ++axis) contract(slopes_[axis], of, 1, 1, at + axis * points_);
    return;
  }
  const Table &value = values_, &slope = slopes_.front();
  const int n = value.columns, q = value.rows, all = cube(std::max(n, q));
  CellLanes *v = scratch, *s = scratch + all, *vv = scratch + 2 * all, *sv = scratch + 3 * all, *vs = scratch + 4 * all;
  const int outer = d_ == 3 ? n * n : n;
  contract(value, of, outer, 1, v);
  contract(slope, of, outer, 1, s);
  if (d_ == 2) {
    contract(value, s, 1, q, at);
    contract(slope, v, 1, q, at + points_);
    return;
  }
  contract(value, v, n, q, vv);
  contract(value, s, n, q, sv);
  contract(slope, v, n, q, vs);
  contract(value, sv, 1, q * q, at);
  contract(value, vs, 1, q * q, at + points_);
  contract(slope, vv, 1, q * q, at + 2 * points_);
}

void PointTables::test_values(const CellLanes* at, CellLanes* of, CellLanes* scratch) const {
  const Table& value = transposed_values_;
  if (!tensor_) return contract(value, at, 1, 1, of);
  const int n = value.rows, q = value.columns, all = cube(std::max(n, q));
  CellLanes *first = scratch, *second = scratch + all;
  if (d_ == 3) contract(value, at, 1, q * q, first);
  contract(value, d_ == 3 ? first : at, d_ == 3 ? n : 1, q, second);
  contract(value, second, d_ == 3 ? n * n : n, 1, of);
}

void PointTables::test_gradients(const CellLanes* at, CellLanes* of, CellLanes* scratch) const {
  if (!tensor_) {
    for (int axis = 0; axis < d_; ++axis) contract(transposed_slopes_[axis], at + axis * points_, 1, 1, of, axis > 0);
    return;
  }
  const Table &value = transposed_values_, &slope = transposed_slopes_.front();
  const int n = value.rows, q = value.columns, all = cube(std::max(n, q));
  CellLanes *v = scratch, *s = scratch + all, *vv = scratch + 2 * all, *sv = scratch + 3 * all, *vs = scratch + 4 * all;
  if (d_ == 2) {
    contract(value, at, 1, q, s);
    contract(slope, at + points_, 1, q, v);
  } else {
    contract(value, at, 1, q * q, sv);
    contract(value, at + points_, 1, q * q, vs);
    contract(slope, at + 2 * points_, 1, q * q, vv);
    contract(value, sv, n, q, s);
    contract(slope, vs, n, q, v);
    contract(value, vv, n, q, v, true);
  }
  const int outer = d_ == 3 ? n * n : n;
  contract(slope, s, outer, 1, of);
  contract(value, v, outer, 1, of, true);
}

SquaredGradients::SquaredGradients(const mesh::LagrangeBasis& basis, int quadrature)
    : d_(mesh::dimension(basis.shape())), tensor_(mesh::is_tensor(basis.shape())) {
  if (tensor_) {
    const auto [values, slopes] = on_line(basis, gauss_points(quadrature));
    const Eigen::MatrixXd mixed = values.cwiseProduct(slopes).transpose();
    mass_ = Table(values.cwiseAbs2().transpose());
    mixed_ = Table(mixed);
    twice_mixed_ = Table(2 * mixed);
    stiffness_ = Table(slopes.cwiseAbs2().transpose());
    points_ = d_ == 3 ? cube(quadrature) : quadrature * quadrature;
    return;
  }
  const Eigen::MatrixXd points = mesh::cell_quadrature(basis.shape(), quadrature).points;
  const std::vector<Eigen::MatrixXd> gradients = basis.gradients(points);
  for (int a = 0; a < d_; ++a)
    for (int b = a; b < d_; ++b)
      entries_.emplace_back((a == b ? 1 : 2) * gradients[a].cwiseProduct(gradients[b]).transpose());
  points_ = static_cast<int>(points.cols());
}

int SquaredGradients::scratch_size() const { return tensor_ ? 4 * cube(std::max(mass_.rows, mass_.columns)) : 0; }

void SquaredGradients::sum(const CellLanes* at, CellLanes* of, CellLanes* scratch) const {
  if (!tensor_) {
    for (std::size_t e = 0; e < entries_.size(); ++e)
      contract(entries_[e], at + static_cast<int>(e) * points_, 1, 1, of, e > 0);
    return;
  }
  const int n = mass_.rows, q = mass_.columns, all = cube(std::max(n, q));
  // Factors to contract along x with squares of values, products of values and derivatives, and squares of derivatives.
  CellLanes *plane = scratch, *m = scratch + all, *x = scratch + 2 * all, *s = scratch + 3 * all;
  if (d_ == 2) {
    contract(mass_, at, 1, q, s);
    contract(mixed_, at + points_, 1, q, x);
    contract(stiffness_, at + 2 * points_, 1, q, m);
  } else {
    const auto along = [&](const Table& z, int entry, const Table& y, CellLanes* to, bool add) {
      contract(z, at + entry * points_, 1, q * q, plane);
      contract(y, plane, n, q, to, add);
    };
    along(mass_, 0, mass_, s, false);
    along(mass_, 1, mixed_, x, false);
    along(mixed_, 2, mass_, x, true);
    along(mass_, 3, stiffness_, m, false);
    along(mixed_, 4, twice_mixed_, m, true);
    along(stiffness_, 5, mass_, m, true);
  }
  const int outer = d_ == 3 ? n * n : n;
  contract(stiffness_, s, outer, 1, of);
  contract(twice_mixed_, x, outer, 1, of, true);
  contract(mass_, m, outer, 1, of, true);
}

}  // namespace femcg::operators

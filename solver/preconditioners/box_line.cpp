#include "solver/preconditioners/box_line.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::solver {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using operators::TensorAxis;

namespace {

/// Stiffness and mass matrices of a cell of width 1.
struct LineElement {
  explicit LineElement(const BoxLine& line) {
    const mesh::Quadrature gauss = mesh::gauss_line(line.quadrature);
    const VectorXd points = gauss.points.row(0).transpose(), nodes = mesh::gauss_lobatto_points(line.degree + 1);
    const MatrixXd values = mesh::line_values(nodes, points), slopes = mesh::line_derivatives(nodes, points);
    stiffness = slopes.transpose() * gauss.weights.asDiagonal() * slopes;
    mass = values.transpose() * gauss.weights.asDiagonal() * values;
  }
  MatrixXd stiffness, mass;
};

/// Calls add(i, j, stiffness, mass) for the entries of each cell's matrices, and of the Robin terms at the ends.
template <class Add>
void for_entries(const BoxLine& line, const Add& add) {
  const LineElement element(line);
  for (std::size_t cell = 0; cell < line.widths.size(); ++cell) {
    const int begin = line.degree * static_cast<int>(cell);
    for (int i = 0; i <= line.degree; ++i)
      for (int j = 0; j <= line.degree; ++j)
        add(begin + i, begin + j, line.diffusion / line.widths[cell] * element.stiffness(i, j),
            line.widths[cell] * element.mass(i, j));
  }
  for (std::size_t end = 0; end < 2; ++end) {
    const int point = end == 0 ? 0 : line.points() - 1;
    add(point, point, line.transfer[end], 0);
  }
}

TensorAxis dense_eigenvectors(const BoxLine& line) {
  MatrixXd stiffness = MatrixXd::Zero(line.points(), line.points()), mass = stiffness;
  for_entries(line, [&](int i, int j, double k, double m) {
    stiffness(i, j) += k;
    mass(i, j) += m;
  });
  const int n = line.unknowns(), first = line.first();
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> modes(stiffness.block(first, first, n, n),
                                                                 mass.block(first, first, n, n));
  const MatrixXd& vectors = modes.eigenvectors();
  return {n,
          {vectors.data(), vectors.data() + vectors.size()},
          {modes.eigenvalues().data(), modes.eigenvalues().data() + n},
          std::vector<double>(static_cast<std::size_t>(n), 1.0)};
}

/// Functions of one wave number: columns of [points]. They are odd about a fixed first end, and even about a free one.
/// With s the sine or cosine of that parity and c the other one, they are
///     s(theta j) at the vertices j;  s(theta (j + 1/2)) at nodes that mirror each other in cell j;
///     +-c(theta (j + 1/2)) at such nodes, with opposite signs
class Waves {
 public:
  Waves(const BoxLine& line, double theta) : line_(line), theta_(theta) {
    const int p = line.degree, cells = static_cast<int>(line.widths.size());
    VectorXd wave = VectorXd::Zero(line.points());
    for (int j = 0; j <= cells; ++j) wave[p * j] = phase(j);
    add(wave);
    for (int a = 1; 2 * a <= p; ++a)
      for (const double sign : {1.0, -1.0}) {
        if (2 * a == p && sign < 0) continue;
        wave.setZero();
        for (int j = 0; j < cells; ++j) {
          wave[p * j + a] = sign > 0 ? phase(j + 0.5) : other_phase(j + 0.5);
          wave[p * j + p - a] = sign * wave[p * j + a];
        }
        add(wave);
      }
  }
  /// Columns without vanishing functions, which occur for the least and the greatest wave number.
  MatrixXd columns() const { return columns_.leftCols(count_); }

 private:
  double phase(double at) const { return line_.is_fixed[0] ? std::sin(theta_ * at) : std::cos(theta_ * at); }
  double other_phase(double at) const { return line_.is_fixed[0] ? std::cos(theta_ * at) : -std::sin(theta_ * at); }
  void add(const VectorXd& wave) {
    constexpr double rounding = 1e-9;
    if (const double norm = wave.norm(); norm > rounding) columns_.col(count_++) = wave / norm;
  }

  const BoxLine& line_;
  double theta_;
  MatrixXd columns_ = MatrixXd(line_.points(), line_.degree);
  int count_ = 0;
};

TensorAxis wave_eigenvectors(const BoxLine& line) {
  const int n = line.unknowns(), p = line.degree, cells = static_cast<int>(line.widths.size());
  const LineElement element(line);
  const MatrixXd stiffness = line.diffusion / line.widths[0] * element.stiffness, mass = line.widths[0] * element.mass;
  const bool are_alike = line.is_fixed[0] == line.is_fixed[1];
  std::vector<MatrixXd> vectors(static_cast<std::size_t>(cells + 1));
  std::vector<VectorXd> values(vectors.size());
#pragma omp parallel for schedule(static)
  for (int k = are_alike ? 0 : 1; k <= cells; ++k) {
    const MatrixXd waves = Waves(line, (are_alike ? k : k - 0.5) * std::numbers::pi / cells).columns();
    if (waves.cols() == 0) continue;
    MatrixXd reduced_stiffness = MatrixXd::Zero(waves.cols(), waves.cols()), reduced_mass = reduced_stiffness;
    for (int cell = 0; cell < cells; ++cell) {
      const auto of_cell = waves.middleRows(p * cell, p + 1);
      reduced_stiffness += of_cell.transpose() * stiffness * of_cell;
      reduced_mass += of_cell.transpose() * mass * of_cell;
    }
    const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> modes(reduced_stiffness, reduced_mass);
    vectors[k] = waves.middleRows(line.first(), n) * modes.eigenvectors();
    values[k] = modes.eigenvalues();
  }
  TensorAxis axis{n, {}, {}, std::vector<double>(static_cast<std::size_t>(n), 1.0)};
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    axis.vectors.insert(axis.vectors.end(), vectors[k].data(), vectors[k].data() + vectors[k].size());
    axis.stiffness.insert(axis.stiffness.end(), values[k].data(), values[k].data() + values[k].size());
  }
  return axis;
}

}  // namespace

bool BoxLine::is_equal() const {
  constexpr double rounding = 1e-10;
  const auto [least, most] = std::ranges::minmax(widths);
  return most - least <= rounding * most && transfer == std::array{0.0, 0.0};
}

bool BoxLine::has_cheap_eigenvectors() const {
  constexpr int most_dense = 400;
  return is_equal() || unknowns() <= most_dense;
}

bool BoxLine::is_short(operators::Device device) const {
  return has_cheap_eigenvectors() && unknowns() <= (device == operators::Device::host ? 1'000 : 4'000);
}

TensorAxis diagonals_of(const BoxLine& line) {
  const auto n = static_cast<std::size_t>(line.unknowns());
  TensorAxis axis{line.unknowns(), {}, std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  for_entries(line, [&](int i, int j, double k, double m) {
    const int unknown = i - line.first();
    if (i != j || unknown < 0 || unknown >= axis.size) return;
    axis.stiffness[unknown] += k;
    axis.mass[unknown] += m;
  });
  return axis;
}

TensorAxis eigenvectors_of(const BoxLine& line) {
  return line.is_equal() ? wave_eigenvectors(line) : dense_eigenvectors(line);
}

}  // namespace femcg::solver

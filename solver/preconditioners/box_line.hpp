#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "operators/transfers/tensor_solves.hpp"

namespace femcg::solver {

/// One axis of a box: finite elements on an interval, with nodes at the Gauss-Lobatto points of each cell.
struct BoxLine {
  int degree = 1;
  int quadrature = 2;                ///< Gauss points per cell
  std::vector<double> widths{};      ///< of the cells
  std::array<bool, 2> is_fixed{};    ///< true for an end whose unknown is constrained
  std::array<double, 2> transfer{};  ///< alpha of the Robin term alpha u v at an end
  double diffusion = 1;

  /// True for cells of equal width without Robin terms: the eigenvectors are then waves, which are cheap to compute.
  bool is_equal() const;
  /// True if computing the eigenvectors takes at most milliseconds.
  bool has_cheap_eigenvectors() const;
  /// True if, in addition, a product with the eigenvectors takes no longer than the rest of a cycle.
  bool is_short(operators::Device device) const;
  int points() const { return degree * static_cast<int>(widths.size()) + 1; }
  /// First point of the line that is not constrained.
  int first() const { return is_fixed[0] ? 1 : 0; }
  int unknowns() const { return points() - first() - (is_fixed[1] ? 1 : 0); }
};

/// Diagonals of the line's stiffness (of diffusion u' v' + transfer) and mass matrices, [unknowns].
operators::TensorAxis diagonals_of(const BoxLine& line);

/// Eigenvectors S of K x = lambda M x with S'M S = I. On equal cells they are waves: for each wave number theta the
/// functions sin(theta j) and cos(theta j) of the cell number j, times degree + 1 nodal values, span an invariant space
/// of dimension degree (Bloch's theorem), so that n unknowns need n / degree small problems.
operators::TensorAxis eigenvectors_of(const BoxLine& line);

}  // namespace femcg::solver

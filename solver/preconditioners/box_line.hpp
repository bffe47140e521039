#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "operators/transfers/tensor_solves.hpp"

namespace femcg::solver {

/// One axis of a box: finite elements on a line, with nodes at the Gauss-Lobatto points of each cell.
struct BoxLine {
  int degree = 1;
  int quadrature = 2;                ///< Gauss points of a cell
  std::vector<double> widths{};      ///< of the cells
  std::array<bool, 2> is_fixed{};    ///< ends whose unknown is constrained
  std::array<double, 2> transfer{};  ///< alpha of the Robin term alpha u v at an end
  double diffusion = 1;

  /// Cells of one width and no Robin term: eigenvectors are then waves, and take next to no time.
  bool is_equal() const;
  /// True if the eigenvectors take milliseconds to make.
  bool has_cheap_eigenvectors() const;
  /// True if, besides, a product with them takes no longer than the rest of a cycle.
  bool is_short(operators::Device device) const;
  int points() const { return degree * static_cast<int>(widths.size()) + 1; }
  /// The points of the line that are not constrained are those from `first` on.
  int first() const { return is_fixed[0] ? 1 : 0; }
  int unknowns() const { return points() - first() - (is_fixed[1] ? 1 : 0); }
};

/// The diagonals of the line's stiffness (of diffusion u' v' + transfer) and mass matrices, [unknowns].
operators::TensorAxis diagonals_of(const BoxLine& line);

/// The eigenvectors S of K x = lambda M x, S'M S = I. On equal cells they are waves: for each wave number theta the
/// functions sin(theta j) and cos(theta j) of the cells' numbers j, times degree + 1 nodal values, span an invariant
/// space of dimension degree (Bloch's theorem), so that n unknowns take n / degree small problems.
operators::TensorAxis eigenvectors_of(const BoxLine& line);

}  // namespace femcg::solver

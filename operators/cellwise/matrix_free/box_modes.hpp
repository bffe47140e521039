#pragma once

#include <vector>

namespace femcg::operators {

/// Modes V of a line's stiffness and mass matrices, S V = M V Lambda and V'M V = I, that are even (sign 1) or odd (-1)
/// about its midpoint.
struct BoxModes {
  std::vector<double> lambda;
  std::vector<double> weights;  ///< V'M, row by row: for each node of the first half, its mirror image included
};

/// For a line with `nodes` Gauss-Lobatto nodes, integrated with `quadrature` Gauss points.
BoxModes box_modes(int nodes, int quadrature, int sign);

}  // namespace femcg::operators

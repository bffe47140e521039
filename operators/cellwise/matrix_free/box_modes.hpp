#pragma once

#include <vector>

namespace femcg::operators {

/// Modes V of a line's stiffness and mass matrices, S V = M V Lambda and V'M V = I, that are even (sign 1) or odd (-1)
/// about its middle.
struct BoxModes {
  std::vector<double> lambda;
  std::vector<double> weights;  ///< V'M, row by row: of each node of the first half and its mirror image together
};

/// The line has so many Gauss-Lobatto nodes, and is integrated by so many Gauss points.
BoxModes box_modes(int nodes, int quadrature, int sign);

}  // namespace femcg::operators

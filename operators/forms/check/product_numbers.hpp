#pragma once

#include <cstdint>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

// What FormProductOnGpu takes from the host: made where Eigen is compiled as everywhere else.

namespace femcg::operators {

enum class SlopeOrder { functions_points, points_functions };

/// The derivatives of the basis functions along the reference axes at the quadrature points: axes, and then in this
/// order.
std::vector<double> slopes_of_functions(const BilinearForm& form, SlopeOrder order);

/// The Robin facets of a form.
struct RobinNumbers {
  int points = 0, nodes = 0;
  std::vector<double> tables;          ///< facets of the reference cell x points x nodes: values of the functions
  std::vector<std::int32_t> facets;    ///< of the reference cell, for each
  std::vector<double> weights;         ///< alpha w |J|, facets x points
  std::vector<std::int32_t> unknowns;  ///< facets x nodes; -1 where one is constrained
};
RobinNumbers robin_numbers(const BilinearForm& form);

/// Bytes of all these, of the mesh and of the diffusion, at most.
std::int64_t bytes_of_product(const BilinearForm& form);

}  // namespace femcg::operators

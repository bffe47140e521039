#pragma once

#include <cstdint>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

// Host data of FormProductOnGpu, made in a .cpp file, where Eigen is compiled with the same flags as everywhere else.

namespace femcg::operators {

enum class SlopeOrder { functions_points, points_functions };

/// Derivatives of the basis functions along the reference axes at the quadrature points: per axis, in the given order.
std::vector<double> slopes_of_functions(const BilinearForm& form, SlopeOrder order);

/// The Robin facets of a form.
struct RobinNumbers {
  int points = 0, nodes = 0;
  std::vector<double> tables;          ///< values of the functions: [facets of the reference cell][points][nodes]
  std::vector<std::int32_t> facets;    ///< of the reference cell, for each Robin facet
  std::vector<double> weights;         ///< alpha w |J|, [facets][points]
  std::vector<std::int32_t> unknowns;  ///< [facets][nodes]; -1 for constrained dofs
};
RobinNumbers robin_numbers(const BilinearForm& form);

/// Upper bound of the bytes of these data, of the mesh and of the diffusion.
std::int64_t bytes_of_product(const BilinearForm& form);

}  // namespace femcg::operators

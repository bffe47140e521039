#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/cell_factors.hpp"
#include "operators/forms/point_program.hpp"

namespace femcg::operators {

/// What the errors of functions of a space are integrated with on the GPU, by a quadrature of n points a direction.
struct ErrorTables {
  ErrorTables(const mesh::FunctionSpace& space, int quadrature);
  /// Of the GPU that it takes, with the squares and u_h.
  static std::int64_t bytes(const mesh::FunctionSpace& space, int quadrature);

  const mesh::FunctionSpace* space;
  FactorInputs geometry;     ///< of diffusion 1
  Vector<double> positions;  ///< values of the geometry's functions, nodes x points
  Vector<double> values;     ///< of the space's, dofs x points
  Vector<double> slopes;     ///< reference axes x dofs x points
};

/// Whether a GPU has room for what these programs compute with.
bool cuda_takes(std::span<const PointProgram> programs);

/// Of each cell the integrals of (u - u_h)^2, |grad (u - u_h)|^2, u^2 and |grad u|^2, cells x 4, on the GPU, where
/// programs of the regions give u, du/dx, du/dy and du/dz. Of a cell where one of these is not finite, some are not.
std::vector<double> cuda_error_squares(const ErrorTables& tables, std::span<const PointProgram> exact_by_region,
                                       std::span<const double> dofs);

}  // namespace femcg::operators

#pragma once

#include <span>

#include "operators/forms/check/cell_integrals.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// |u - u_h| and |grad (u - u_h)| in L2, and |u| and |grad u|.
struct Errors {
  double l2 = 0, h1 = 0;
  double norm_l2 = 0, norm_h1 = 0;
};

/// Integrated with two more points per direction than the problem; grad u by the rules of calculus. Collective, where
/// several processes have parts of the mesh; on the GPU, where the solution is there too and there is room; it may be
/// null. Throws InputError where u or its gradient is not finite.
Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs,
                      const operators::FunctionOnGpu* on_gpu = nullptr);

}  // namespace femcg::solver

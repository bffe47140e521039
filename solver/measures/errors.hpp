#pragma once

#include <span>

#include "operators/forms/check/cell_integrals.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// L2 norms of u - u_h, grad (u - u_h), u and grad u.
struct Errors {
  double l2 = 0, h1 = 0;
  double norm_l2 = 0, norm_h1 = 0;
};

/// Integrates with two more points per direction than the problem; grad u by symbolic differentiation. Runs on the GPU
/// if the solution is there and there is room (`on_gpu` may be null). Collective if several processes have parts of the
/// mesh. Throws InputError if u or its gradient is not finite.
Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs,
                      const operators::FunctionOnGpu* on_gpu = nullptr);

}  // namespace femcg::solver

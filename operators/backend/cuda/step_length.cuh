#pragma once

namespace femcg::operators::cuda {

/// operators::step_length on the GPU: a / b, or 0 where b is not positive.
__device__ inline double step_length(double a, double b) { return b > 0 ? a / b : 0.0; }

}  // namespace femcg::operators::cuda

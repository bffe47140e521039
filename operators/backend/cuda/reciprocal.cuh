#pragma once

// Reciprocals in few instructions.

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

/// 1 / a to the last bit or two; 0 or infinite where a or the result is subnormal. An approximation and two Newton
/// steps, without the branch of the correctly rounded reciprocal.
__device__ inline double quick_reciprocal(double a) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
#pragma unroll
  for (int step = 0; step < 2; ++step) r = fma(fma(-a, r, 1.0), r, r);
  return r;
}
__device__ inline float quick_reciprocal(float a) { return __fdividef(1.0F, a); }

__device__ inline double rounded_reciprocal(double a) { return __drcp_rn(a); }
__device__ inline float rounded_reciprocal(float a) { return __frcp_rn(a); }

}  // namespace femcg::operators::cuda

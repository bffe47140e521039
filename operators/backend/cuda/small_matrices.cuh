#pragma once

// sum += left right for matrices of a few rows and columns, all lanes of a warp together, each of which has a few of
// their numbers: of lane l, row l / 4 and column l % 4 of a left factor 8 x 4, row l % 4 and column l / 4 of a right
// one 4 x 8, row l / 4 and columns 2 (l % 4) and the next of a sum 8 x 8. In sixteen rows, those and the ones eight
// below. GPUs of compute capability 8.0 and above have an instruction for eight rows, those of 9.0 for sixteen; others
// take the numbers from the other lanes.

#include <nv/target>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

__device__ inline void multiply_add(double left, double right, double (&sum)[2]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_80, (
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[0]), "+d"(sum[1])
            : "d"(left), "d"(right));
      ),
      NV_ANY_TARGET, (
        const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
        for (int k = 0; k < 4; ++k)
          for (int c = 0; c < 2; ++c)
            sum[c] += __shfl_sync(all_lanes, left, lane / 4 * 4 + k) *
                      __shfl_sync(all_lanes, right, (lane % 4 * 2 + c) * 4 + k);
      ))
  // clang-format on
}

__device__ inline void multiply_add(const double (&left)[2], double right, double (&sum)[4]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_90, (
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
            : "d"(left[0]), "d"(left[1]), "d"(right));
      ),
      NV_ANY_TARGET, (
        for (int c = 0; c < 2; ++c) {
          double half[2] = {sum[2 * c], sum[2 * c + 1]};
          multiply_add(left[c], right, half);
          sum[2 * c] = half[0];
          sum[2 * c + 1] = half[1];
        }
      ))
  // clang-format on
}

}  // namespace femcg::operators::cuda

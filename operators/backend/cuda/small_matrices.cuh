#pragma once

// sum += left right for small matrices, by all lanes of a warp, each of which holds a few entries: lane l has row l / 4
// and column l % 4 of an 8 x 4 left factor, row l % 4 and column l / 4 of a 4 x 8 right factor, row l / 4 and columns 2
// (l % 4) and 2 (l % 4) + 1 of an 8 x 8 sum. With sixteen rows it has these entries and those eight rows below.
//
// In double precision GPUs have an instruction for eight rows from compute capability 8.0 on, and for sixteen from 9.0
// on. In single precision the instruction of 8.0 takes factors with 11 significant bits (TF32): factors are split into
// these bits and the rest, and three of the four products make the sum about as exact as single precision (Markidis et
// al. 2018). Older GPUs take the entries from the other lanes by shuffles.

#include <bit>
#include <cstdint>
#include <nv/target>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

/// An entry of a factor in precision T.
template <class T>
struct MatrixFactor;
template <>
struct MatrixFactor<double> {
  double value;
};
template <>
struct MatrixFactor<float> {
  float high, low;  ///< 11 significant bits, and the rest
};

__host__ __device__ inline MatrixFactor<double> matrix_factor(double value) { return {value}; }
__host__ __device__ inline MatrixFactor<float> matrix_factor(float value) {
  const auto high = std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000U) & ~0x1fffU);
  return {high, value - high};
}

template <class T>
__device__ void multiply_add_by_shuffles(T left, T right, T* sum) {
  const int lane = static_cast<int>(threadIdx.x) % threads_per_warp;
  for (int k = 0; k < 4; ++k)
    for (int c = 0; c < 2; ++c)
      sum[c] +=
          __shfl_sync(all_lanes, left, lane / 4 * 4 + k) * __shfl_sync(all_lanes, right, (lane % 4 * 2 + c) * 4 + k);
}

/// sum += left right, with eight rows.
__device__ inline void multiply_add(double left, double right, double (&sum)[2]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_80, (
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[0]), "+d"(sum[1])
            : "d"(left), "d"(right));
      ),
      NV_ANY_TARGET, (
        multiply_add_by_shuffles(left, right, sum);
      ))
  // clang-format on
}

/// sum += left right, with sixteen rows.
__device__ inline void multiply_add(const MatrixFactor<double> (&left)[2], MatrixFactor<double> right,
                                    double (&sum)[4]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_90, (
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
            : "d"(left[0].value), "d"(left[1].value), "d"(right.value));
      ),
      NV_ANY_TARGET, (
        for (int c = 0; c < 2; ++c) {
          double half[2] = {sum[2 * c], sum[2 * c + 1]};
          multiply_add(left[c].value, right.value, half);
          sum[2 * c] = half[0];
          sum[2 * c + 1] = half[1];
        }
      ))
  // clang-format on
}
__device__ inline void multiply_add(const MatrixFactor<float> (&left)[2], MatrixFactor<float> right, float (&sum)[4]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_80, (
        const auto add = [&](float of_left, float below, float of_right) {
          asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
              : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
              : "r"(__float_as_uint(of_left)), "r"(__float_as_uint(below)), "r"(__float_as_uint(of_right)));
        };
        add(left[0].low, left[1].low, right.high);
        add(left[0].high, left[1].high, right.low);
        add(left[0].high, left[1].high, right.high);
      ),
      NV_ANY_TARGET, (
        for (int c = 0; c < 2; ++c)
          multiply_add_by_shuffles(left[c].high + left[c].low, right.high + right.low, sum + 2 * c);
      ))
  // clang-format on
}

/// sum += left right + next_left next_right.
template <class T>
__device__ void multiply_add(const MatrixFactor<T> (&left)[2], MatrixFactor<T> right,
                             const MatrixFactor<T> (&next_left)[2], MatrixFactor<T> next_right, T (&sum)[4]) {
  multiply_add(left, right, sum);
  multiply_add(next_left, next_right, sum);
}
__device__ inline void multiply_add(const MatrixFactor<float> (&left)[2], MatrixFactor<float> right,
                                    const MatrixFactor<float> (&next_left)[2], MatrixFactor<float> next_right,
                                    float (&sum)[4]) {
  // clang-format off
  NV_DISPATCH_TARGET(
      NV_PROVIDES_SM_80, (
        const auto add = [&](float a, float below, float next, float next_below, float b, float next_b) {
          asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
              "{%0, %1, %2, %3};"
              : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
              : "r"(__float_as_uint(a)), "r"(__float_as_uint(below)), "r"(__float_as_uint(next)),
                "r"(__float_as_uint(next_below)), "r"(__float_as_uint(b)), "r"(__float_as_uint(next_b)));
        };
        add(left[0].low, left[1].low, next_left[0].low, next_left[1].low, right.high, next_right.high);
        add(left[0].high, left[1].high, next_left[0].high, next_left[1].high, right.low, next_right.low);
        add(left[0].high, left[1].high, next_left[0].high, next_left[1].high, right.high, next_right.high);
      ),
      NV_ANY_TARGET, (
        multiply_add(left, right, sum);
        multiply_add(next_left, next_right, sum);
      ))
  // clang-format on
}

}  // namespace femcg::operators::cuda

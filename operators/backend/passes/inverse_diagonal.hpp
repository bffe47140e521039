#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "operators/backend/mixed_bits.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// M^-1 of a diagonal preconditioner M, in single precision for any precision of the vectors: CG reads it as often as
/// the residual, and M need not be the diagonal to the last digit (as in Anzt et al. 2019, who store the blocks of
/// block Jacobi in fewer bits).
using InverseDiagonal = Vector<float>;

/// The entries; null where there is no preconditioner.
inline const float* data_of(const InverseDiagonal* inverse) { return inverse != nullptr ? inverse->data() : nullptr; }

/// Properties of a diagonal d that its inversion depends on.
struct DiagonalRange {
  std::int64_t not_positive = -1;  ///< first entry that is not > 0, NaN included; -1 if there is none
  bool has_nan = false;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;  ///< of the entries >= 0
  std::int64_t exponents = 0;  ///< sum of floor(log2(d_i)) over the first `counted` entries
};

/// The range of d; the sum of exponents runs over the first `counted` entries only.
template <std::floating_point T>
DiagonalRange range_of_diagonal(const Vector<T>& d, std::int64_t counted);

/// 2^exponent / d_i, for d_i > 0, clamped to the normal numbers of single precision.
template <std::floating_point T>
InverseDiagonal inverse_of_diagonal(const Vector<T>& d, int exponent);

/// r = D^1/2 n, with pseudo-random numbers n in [-1, 1) that are the same on every device: entry i has that of unknown
/// k = ordering[i] (k = i for an empty ordering), or, over several processes, of the global unknown numbers[k].
template <std::floating_point T>
Vector<T> random_residual(const InverseDiagonal& inverse, const Vector<std::int32_t>& ordering,
                          std::span<const std::int64_t> numbers = {});
/// The pseudo-random number of unknown k, in [-1, 1).
constexpr double random_number(std::int64_t k) {
  constexpr double of_53_bits = 0x1p-52;
  return static_cast<double>(mixed_bits(k) >> 11U) * of_53_bits - 1;
}

/// Versions for the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
DiagonalRange cuda_range_of_diagonal(const Vector<T>& d, std::int64_t counted);
template <std::floating_point T>
void cuda_invert_diagonal(const Vector<T>& d, double numerator, InverseDiagonal& inverse);
template <std::floating_point T>
void cuda_random_residual(const InverseDiagonal& inverse, const Vector<std::int32_t>& ordering,
                          std::span<const std::int64_t> numbers, Vector<T>& r);

}  // namespace femcg::operators

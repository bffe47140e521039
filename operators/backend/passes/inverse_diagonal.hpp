#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "operators/backend/mixed_bits.hpp"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// M^-1 of a diagonal preconditioner M, in single precision whatever that of the vectors is: the passes of CG read it
/// as often as the residual, and M need not be the diagonal to the last digit (so Anzt et al. 2019, who store the
/// blocks of block Jacobi in fewer bits).
using InverseDiagonal = Vector<float>;

/// Its numbers; null where there is no preconditioner.
inline const float* data_of(const InverseDiagonal* inverse) { return inverse != nullptr ? inverse->data() : nullptr; }

/// Properties of a diagonal d that its inversion depends on.
struct DiagonalRange {
  std::int64_t not_positive = -1;  ///< the first entry that is not, NaN among them; -1 where all are
  bool has_nan = false;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;  ///< of those that are not negative
  std::int64_t exponents = 0;  ///< the sum of log2(d_i), rounded down, over the entries that count
};

/// The first `counted` entries count in the sum.
template <std::floating_point T>
DiagonalRange range_of_diagonal(const Vector<T>& d, std::int64_t counted);

/// 2^exponent / d_i, for d_i > 0; beyond the normal numbers of single precision, the nearest of them.
template <std::floating_point T>
InverseDiagonal inverse_of_diagonal(const Vector<T>& d, int exponent);

/// r = D^1/2 n, with pseudo-random numbers n from -1 to 1 that are the same on every device: entry i has that of the
/// unknown k = ordering[i], or i without an ordering, which of several processes has the number numbers[k].
template <std::floating_point T>
Vector<T> random_residual(const InverseDiagonal& inverse, const Vector<std::int32_t>& ordering,
                          std::span<const std::int64_t> numbers = {});
/// The number of unknown k.
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

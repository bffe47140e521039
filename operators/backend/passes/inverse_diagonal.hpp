#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

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

/// Versions for the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
DiagonalRange cuda_range_of_diagonal(const Vector<T>& d, std::int64_t counted);
template <std::floating_point T>
void cuda_invert_diagonal(const Vector<T>& d, double numerator, InverseDiagonal& inverse);

}  // namespace femcg::operators

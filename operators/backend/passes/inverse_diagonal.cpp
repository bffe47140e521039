#include "operators/backend/passes/inverse_diagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Range of the diagonal in some rows; += adds the next rows.
struct DiagonalPart : DiagonalRange {
  DiagonalPart& operator+=(const DiagonalPart& next) {
    if (not_positive < 0) not_positive = next.not_positive;
    has_nan = has_nan || next.has_nan;
    smallest = std::min(smallest, next.smallest);
    largest = std::max(largest, next.largest);
    exponents += next.exponents;
    return *this;
  }
};

}  // namespace

template <std::floating_point T>
DiagonalRange range_of_diagonal(const Vector<T>& d, std::int64_t counted) {
  if (d.device() == Device::cuda) return cuda_range_of_diagonal(d, counted);
  return sum_over_row_blocks(d.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    DiagonalPart part;
    for (std::int64_t i = first; i < last; ++i) {
      const auto entry = static_cast<double>(d[i]);
      if (!(entry > 0) && part.not_positive < 0) part.not_positive = i;
      part.has_nan = part.has_nan || std::isnan(entry);
      if (entry >= 0) {
        part.smallest = std::min(part.smallest, entry);
        part.largest = std::max(part.largest, entry);
      }
      int exponent = 0;
      std::frexp(entry, &exponent);
      if (i < counted) part.exponents += exponent - 1;
    }
    return part;
  });
}

template <std::floating_point T>
InverseDiagonal inverse_of_diagonal(const Vector<T>& d, int exponent) {
  InverseDiagonal inverse(d.size(), d.device());
  const double numerator = std::ldexp(1.0, exponent);
  if (d.device() == Device::cuda) {
    cuda_invert_diagonal(d, numerator, inverse);
    return inverse;
  }
  constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  for_each_row(d.size(), [&](std::int64_t i) {
    inverse[i] = static_cast<float>(std::clamp(numerator / static_cast<double>(d[i]), least, most));
  });
  return inverse;
}

template <std::floating_point T>
Vector<T> random_residual(const InverseDiagonal& inverse, const Vector<std::int32_t>& ordering,
                          std::span<const std::int64_t> numbers) {
  Vector<T> r(inverse.size(), inverse.device());
  if (r.device() == Device::cuda) {
    cuda_random_residual(inverse, ordering, numbers, r);
    return r;
  }
  for_each_row(r.size(), [&](std::int64_t i) {
    const std::int64_t k = ordering.size() > 0 ? ordering[i] : i;
    r[i] = static_cast<T>(random_number(numbers.empty() ? k : numbers[k]) / std::sqrt(static_cast<double>(inverse[i])));
  });
  return r;
}

template DiagonalRange range_of_diagonal(const Vector<double>&, std::int64_t);
template DiagonalRange range_of_diagonal(const Vector<float>&, std::int64_t);
template InverseDiagonal inverse_of_diagonal(const Vector<double>&, int);
template InverseDiagonal inverse_of_diagonal(const Vector<float>&, int);
template Vector<double> random_residual(const InverseDiagonal&, const Vector<std::int32_t>&,
                                        std::span<const std::int64_t>);
template Vector<float> random_residual(const InverseDiagonal&, const Vector<std::int32_t>&,
                                       std::span<const std::int64_t>);

}  // namespace femcg::operators

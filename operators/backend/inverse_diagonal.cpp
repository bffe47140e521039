#include "operators/backend/inverse_diagonal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "operators/backend/parallel_rows.hpp"

namespace femcg::operators {

template <std::floating_point T>
DiagonalRange range_of_diagonal(const Vector<T>& d, std::int64_t counted) {
  if (d.device() == Device::cuda) return cuda_range_of_diagonal(d, counted);
  struct Part {
    std::int64_t not_positive = std::numeric_limits<std::int64_t>::max(), exponents = 0;
    Part& operator+=(const Part& other) {
      not_positive = std::min(not_positive, other.not_positive);
      exponents += other.exponents;
      return *this;
    }
  };
  const Part all = sum_over_row_blocks(d.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    Part part;
    for (std::int64_t i = first; i < last; ++i) {
      if (!(d[i] > 0)) part.not_positive = std::min(part.not_positive, i);
      int exponent = 0;
      std::frexp(d[i], &exponent);
      if (i < counted) part.exponents += exponent - 1;
    }
    return part;
  });
  return {all.not_positive < d.size() ? all.not_positive : -1, all.exponents};
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

template DiagonalRange range_of_diagonal(const Vector<double>&, std::int64_t);
template DiagonalRange range_of_diagonal(const Vector<float>&, std::int64_t);
template InverseDiagonal inverse_of_diagonal(const Vector<double>&, int);
template InverseDiagonal inverse_of_diagonal(const Vector<float>&, int);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Magnitudes with which products and their sums neither overflow nor lose digits by underflow, whatever the order in
/// which an operator adds them up: every entry up to `largest`, in every row one of at least `least`, or all zero.
struct NumberRange {
  double least, largest;
};
inline constexpr NumberRange range_of_double{1e-290, 1e290};
inline constexpr NumberRange range_of_single{1e-30, 1e30};

/// An entry that leaves the range: too large, or the largest of a row of too small ones.
struct OutOfRange {
  std::int32_t row, column;
  double value;
  bool too_small;
};

/// That of the first such row; nothing where all rows are within the range.
std::optional<OutOfRange> find_out_of_range(const CsrMatrix<double>& matrix, const NumberRange& range);

/// Why single precision cannot hold a matrix; empty where it can.
std::string why_not_single(const CsrMatrix<double>& matrix);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Magnitudes with which products and their sums neither overflow nor lose digits by underflow, in any order of
/// summation: all entries are at most `largest`, and every row has one of at least `least`, or is zero.
struct NumberRange {
  double least, largest;
};
inline constexpr NumberRange range_of_double{1e-290, 1e290};
inline constexpr NumberRange range_of_single{1e-30, 1e30};

/// An entry out of range: too large, or the largest of a row of too small ones.
struct OutOfRange {
  std::int32_t row, column;
  double value;
  bool too_small;
};

/// The entry of the first row out of range; nothing if all rows are within it.
std::optional<OutOfRange> find_out_of_range(const CsrMatrix<double>& matrix, const NumberRange& range);

/// Reason why single precision cannot hold a matrix; empty if it can.
std::string why_not_single(const CsrMatrix<double>& matrix);

}  // namespace femcg::operators

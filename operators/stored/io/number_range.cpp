#include "operators/stored/io/number_range.hpp"

#include <fmt/format.h>

#include <cmath>

namespace femcg::operators {

namespace {

/// The entry of a row with the largest magnitude, if the row is out of range; a value that is not finite counts as the
/// largest.
std::optional<OutOfRange> check_row(const CsrMatrix<double>& matrix, std::int32_t row, const NumberRange& range) {
  double most = 0;
  std::int64_t at = -1;
  for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
    const double size = std::abs(matrix.values[k]);
    if (!(size <= range.largest)) return OutOfRange{row, matrix.columns[k], matrix.values[k], false};
    if (size > most) {
      most = size;
      at = k;
    }
  }
  if (at < 0 || most >= range.least) return std::nullopt;
  return OutOfRange{row, matrix.columns[at], matrix.values[at], true};
}

}  // namespace

std::optional<OutOfRange> find_out_of_range(const CsrMatrix<double>& matrix, const NumberRange& range) {
  std::int32_t first = matrix.rows;
#pragma omp parallel for schedule(static) reduction(min : first) if (matrix.rows > 10000)
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    if (row < first && check_row(matrix, row, range)) first = row;
  return first < matrix.rows ? check_row(matrix, first, range) : std::nullopt;
}

std::string why_not_single(const CsrMatrix<double>& matrix) {
  const auto found = find_out_of_range(matrix, range_of_single);
  if (!found) return "";
  return found->too_small
             ? fmt::format("row {} of the matrix has no entry above {:.3g}, which is too small for single precision",
                           found->row + 1, std::abs(found->value))
             : fmt::format("the matrix has an entry {:.3g}, which is too large for single precision", found->value);
}

}  // namespace femcg::operators

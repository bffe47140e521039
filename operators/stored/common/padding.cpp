#include "operators/stored/common/padding.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::int64_t longest_row(const CsrMatrix<T>& matrix) {
  const std::int64_t* offsets = matrix.row_offsets.data();
  std::int64_t longest = 0;
#pragma omp parallel for schedule(static) reduction(max : longest) if (matrix.rows > rows_per_block)
  for (std::int64_t row = 0; row < matrix.rows; ++row) longest = std::max(longest, offsets[row + 1] - offsets[row]);
  return longest;
}

template <std::floating_point T>
void check_padding(const CsrMatrix<T>& matrix, std::int64_t width, std::int64_t entries, const char* what) {
  constexpr double largest_ratio = 4, gibibyte = 1 << 30, entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const auto stored = static_cast<double>(entries), needed = static_cast<double>(matrix.nonzeros());
  if ((stored - needed) * entry_bytes <= gibibyte || stored <= largest_ratio * needed) return;
  throw std::invalid_argument(
      fmt::format("{} would pad every row to {} entries, {:.1f} GiB in all and {:.1f} times the nonzeros; "
                  "operator 'sell' pads a few rows at a time",
                  what, width, stored * entry_bytes / gibibyte, stored / needed));
}

template std::int64_t longest_row(const CsrMatrix<double>&);
template std::int64_t longest_row(const CsrMatrix<float>&);
template void check_padding(const CsrMatrix<double>&, std::int64_t, std::int64_t, const char*);
template void check_padding(const CsrMatrix<float>&, std::int64_t, std::int64_t, const char*);

}  // namespace femcg::operators

#include "operators/csr/csr_tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace femcg::operators {

CsrTiles cut_into_tiles(const Vector<std::int64_t>& row_offsets) {
  const auto rows = static_cast<std::int32_t>(row_offsets.size() - 1);
  CsrTiles cut;
  cut.capacity = 256;
  if (const char* text = std::getenv("FEMCG_CAPACITY")) cut.capacity = std::atoi(text);
  while (std::int64_t{cut.capacity} * rows < 2 * row_offsets[rows] && cut.capacity < 1024) cut.capacity *= 2;
  std::vector<std::int32_t> first_rows;
  for (std::int32_t row = 0; row < rows;) {
    first_rows.push_back(row);
    const std::int32_t most = std::min(rows - row, CsrTiles::most_rows);
    std::int32_t count = 1;
    while (count < most && row_offsets[row + count + 1] - row_offsets[row] <= cut.capacity) ++count;
    const std::int64_t entries = row_offsets[row + count] - row_offsets[row];
    if (entries <= cut.capacity) cut.largest = std::max(cut.largest, static_cast<int>(entries));
    row += count;
  }
  first_rows.push_back(rows);
  cut.first_rows = Vector<std::int32_t>(static_cast<std::int64_t>(first_rows.size()));
  std::ranges::copy(first_rows, cut.first_rows.data());
  return cut;
}

}  // namespace femcg::operators

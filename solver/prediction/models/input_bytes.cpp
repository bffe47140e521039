#include "solver/prediction/models/input_bytes.hpp"

#include <algorithm>
#include <vector>

namespace femcg::solver {

namespace {

constexpr std::int64_t line_bytes = 64;

/// Visits blocks of pieces of the work, an evenly spaced sample of them if there are many, and counts the cache lines
/// of x that each touches. columns(piece, visit) calls visit(column).
template <class ColumnsOf>
Locality count(std::int64_t pieces, std::int64_t unknowns, int word_bytes, double passing_bytes, double cache_bytes,
               const ColumnsOf& columns) {
  constexpr std::int64_t most_pieces = 1 << 17;  // sampled, unless a block has more
  const std::int64_t words = line_bytes / word_bytes;
  const double of_piece = passing_bytes / static_cast<double>(std::max<std::int64_t>(pieces, 1));
  const bool fits = static_cast<double>(unknowns * word_bytes) <= cache_bytes / 2;
  const std::int64_t block =
      std::clamp<std::int64_t>(fits ? most_pieces / 16 : static_cast<std::int64_t>(cache_bytes / 2 / of_piece), 1,
                               std::max<std::int64_t>(pieces, 1));
  const std::int64_t blocks = (pieces + block - 1) / block,
                     looked_at = std::min(blocks, std::max<std::int64_t>(most_pieces / block, 1));
  std::int64_t lines = 0, far = 0, seen = 0;
#pragma omp parallel reduction(+ : lines, far, seen)
  {
    std::vector<bool> touched;
#pragma omp for schedule(dynamic)
    for (std::int64_t k = 0; k < looked_at; ++k) {
      const std::int64_t first = blocks * k / looked_at * block, last = std::min(pieces, first + block);
      touched.assign(static_cast<std::size_t>(unknowns / words + 1), false);
      for (std::int64_t piece = first; piece < last; ++piece) {
        std::int64_t least = unknowns, most = -1;
        columns(piece, [&](std::int64_t column) {
          least = std::min(least, column);
          most = std::max(most, column);
          std::vector<bool>::reference line = touched[static_cast<std::size_t>(column / words)];
          lines += line ? 0 : 1;
          line = true;
        });
        if (most - least >= 32768) ++far;  // a row of a form belongs to cells on both sides
      }
      seen += last - first;
    }
  }
  const double once = static_cast<double>(unknowns * word_bytes),
               all_lines = static_cast<double>(lines) * static_cast<double>(pieces) /
                           static_cast<double>(std::max<std::int64_t>(seen, 1));
  // Blocks with a common window of x touch its lines once each: at least all of x.
  return {fits ? once : std::max(once, all_lines * line_bytes), far == 0};
}

}  // namespace

Locality locality(const operators::BilinearForm& form, int word_bytes, double passing_bytes, double cache_bytes) {
  return count(
      form.cells(), form.unknowns, word_bytes, passing_bytes, cache_bytes,
      [&](std::int64_t cell, const auto& visit) { form.for_unknowns(static_cast<std::int32_t>(cell), visit); });
}

Locality locality(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns, int word_bytes,
                  double passing_bytes, double cache_bytes) {
  const std::int64_t rows = std::ssize(row_offsets) - 1;
  return count(rows, rows, word_bytes, passing_bytes, cache_bytes, [&](std::int64_t row, const auto& visit) {
    for (std::int64_t k = row_offsets[row]; k < row_offsets[row + 1]; ++k) visit(columns[static_cast<std::size_t>(k)]);
  });
}

double cache_bytes(operators::Device device) { return device == operators::Device::cuda ? 60e6 : 32e6; }

}  // namespace femcg::solver

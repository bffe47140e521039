#include "solver/prediction/models/input_bytes.hpp"

#include <algorithm>
#include <vector>

namespace femcg::solver {

namespace {

constexpr std::int64_t line_bytes = 64;

/// Goes over pieces of the work, each with the columns that it reads, and counts the lines of x that blocks of so many
/// pieces touch. columns(piece, visit) calls visit(column).
template <class ColumnsOf>
Locality count(std::int64_t pieces, std::int64_t unknowns, int word_bytes, double passing_bytes, double cache_bytes,
               const ColumnsOf& columns) {
  const std::int64_t words = line_bytes / word_bytes;
  const double of_piece = passing_bytes / static_cast<double>(std::max<std::int64_t>(pieces, 1));
  const bool fits = static_cast<double>(unknowns * word_bytes) <= cache_bytes / 2;
  const std::int64_t block = fits ? std::max<std::int64_t>(pieces, 1)
                                  : std::max<std::int64_t>(1, static_cast<std::int64_t>(cache_bytes / 2 / of_piece));
  std::vector<std::int64_t> last_block(static_cast<std::size_t>(unknowns / words + 1), -1);
  std::int64_t lines = 0, far = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t number = piece / block;
    std::int64_t least = unknowns, most = -1;
    columns(piece, [&](std::int64_t column) {
      least = std::min(least, column);
      most = std::max(most, column);
      std::int64_t& last = last_block[static_cast<std::size_t>(column / words)];
      lines += last == number ? 0 : 1;
      last = number;
    });
    if (most - least >= 32768) ++far;  // a row of a form belongs to cells on both sides
  }
  const double once = static_cast<double>(unknowns * word_bytes);
  // Blocks that share a window of x touch its lines once each: at least all of x.
  return {fits ? once : std::max(once, static_cast<double>(lines * line_bytes)), far == 0};
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

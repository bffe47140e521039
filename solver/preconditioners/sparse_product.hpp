#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// A matrix whose rows are made one by one, by all threads. `make_writer()`, which each thread calls once, returns a
/// function that appends the columns and values of a row to two vectors: write(row, columns, values). `work(i)` is the
/// work in the rows before row i.
template <class Work, class MakeWriter>
operators::RectangularMatrix matrix_of_rows(std::int32_t rows, std::int32_t columns, const Work& work,
                                            const MakeWriter& make_writer) {
  struct Block {
    std::vector<std::int64_t> ends;  // of the rows
    std::vector<std::int32_t> column;
    std::vector<double> value;
  };
  std::vector<Block> blocks(
      static_cast<std::size_t>((rows + operators::rows_per_block - 1) / operators::rows_per_block));
  const auto for_blocks = [&](const auto& make_body) {
    operators::for_shares([&](int share, int shares) {
      const auto [from, to] = operators::blocks_of_share(rows, work, share, shares);
      auto body = make_body();
      for (std::int64_t block = from; block < to; ++block)
        body(blocks[static_cast<std::size_t>(block)], block * operators::rows_per_block,
             std::min<std::int64_t>(rows, (block + 1) * operators::rows_per_block));
    });
  };
  for_blocks([&] {
    return [write = make_writer()](Block& block, std::int64_t first, std::int64_t last) mutable {
      for (std::int64_t row = first; row < last; ++row) {
        write(row, block.column, block.value);
        block.ends.push_back(std::ssize(block.column));
      }
    };
  });

  operators::RectangularMatrix result;
  result.rows = rows;
  result.columns = columns;
  result.row_offsets = operators::Vector<std::int64_t>(rows + std::int64_t{1});
  std::int64_t row = 0, before = result.row_offsets[0] = 0;
  for (const Block& block : blocks) {
    for (const std::int64_t end : block.ends) result.row_offsets[++row] = before + end;
    before = result.row_offsets[row];
  }
  result.column = operators::Vector<std::int32_t>(before);
  result.value = operators::Vector<double>(before);
  for_blocks([&] {
    return [&](const Block& block, std::int64_t first, std::int64_t) {
      std::ranges::copy(block.column, result.column.data() + result.row_offsets[first]);
      std::ranges::copy(block.value, result.value.data() + result.row_offsets[first]);
    };
  });
  return result;
}

/// A B, row by row (Gustavson 1978). On all threads; the same for any number of them, to the bit.
operators::RectangularMatrix product(const operators::RectangularMatrix& a, const operators::RectangularMatrix& b);

/// Zero where a row has no diagonal entry.
std::vector<double> diagonal_of(const operators::RectangularMatrix& a);

/// The Galerkin product P' A P.
operators::RectangularMatrix galerkin(const operators::RectangularMatrix& a, const operators::RectangularMatrix& p);

}  // namespace femcg::solver

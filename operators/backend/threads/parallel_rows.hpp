#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

/// Rows of a block, whose contributions to a sum are added up by one thread. Blocks, and hence sums over them to the
/// last bit, do not depend on the number of threads.
constexpr std::int64_t rows_per_block = 512;

/// Returns the range [first, second) of blocks of one share. `work(i)` is the work in the rows before row i,
/// non-decreasing: all shares have about the same work.
template <class Work>
std::pair<std::int64_t, std::int64_t> blocks_of_share(std::int64_t rows, const Work& work, int share, int shares) {
  const std::int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
  const double total = static_cast<double>(work(rows));
  const auto boundary = [&](int s) {
    if (s == shares) return blocks;
    std::int64_t low = 0, high = blocks;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (static_cast<double>(work(middle * rows_per_block)) * shares < total * s)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return {boundary(share), boundary(share + 1)};
}

/// Calls body(first, last) for blocks of rows [first, last), in parallel.
template <class Work, class Body>
void for_row_blocks(std::int64_t rows, const Work& work, const Body& body) {
  if (rows <= rows_per_block) {
    if (rows > 0) body(0, rows);
    return;
  }
  for_shares([&](int share, int shares) {
    const auto [first, last] = blocks_of_share(rows, work, share, shares);
    for (std::int64_t block = first; block < last; ++block)
      body(block * rows_per_block, std::min(rows, (block + 1) * rows_per_block));
  });
}

/// Sum of body(first, last) over blocks of rows, added in the order of the blocks.
template <class Work, class Body>
auto sum_over_row_blocks(std::int64_t rows, const Work& work, const Body& body) {
  using Sum = std::invoke_result_t<const Body&, std::int64_t, std::int64_t>;
  const std::int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
  static thread_local std::vector<Sum> kept;  // reused by later sums, unless Sum owns memory
  std::vector<Sum> parts = std::exchange(kept, {});
  parts.resize(std::max(parts.size(), static_cast<std::size_t>(blocks)));
  for_row_blocks(rows, work,
                 [&](std::int64_t first, std::int64_t last) { parts[first / rows_per_block] = body(first, last); });
  Sum sum{};
  for (std::int64_t block = 0; block < blocks; ++block) sum += parts[block];
  if constexpr (std::is_trivially_copyable_v<Sum>) kept = std::move(parts);
  return sum;
}

/// Work function of rows that all take the same time.
struct EqualRows {
  std::int64_t operator()(std::int64_t row) const { return row; }
};

/// Calls body(i) for all rows, in parallel.
template <class Body>
void for_each_row(std::int64_t rows, const Body& body) {
  for_row_blocks(rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) body(i);
  });
}

/// Sum of a_i b_i over first <= i < last, in double precision.
///
/// A function of plain pointers, like every SIMD loop of femcg: in a lambda, whose variables are members of its
/// closure, g++ 12 mistakes contiguous loads for gathers.
template <class T>
double dot_of_rows(const T* a, const T* b, std::int64_t first, std::int64_t last) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = first; i < last; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace femcg::operators

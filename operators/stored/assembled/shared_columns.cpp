#include "operators/stored/assembled/shared_columns.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "mesh/base/first_failure.hpp"

namespace femcg::operators {

namespace {

using Offsets = std::span<const std::int64_t>;
using ColumnIndices = std::span<const std::int32_t>;

ColumnIndices columns_of(Offsets offsets, ColumnIndices columns, std::int64_t row) {
  return columns.subspan(offsets[row], offsets[row + 1] - offsets[row]);
}

std::uint64_t hash_of(ColumnIndices columns) {
  std::uint64_t hash = columns.size();
  for (const std::int32_t column : columns) hash = (hash ^ static_cast<std::uint32_t>(column)) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

/// Groups and rows of a window; columns and rows are counted from the window's first.
struct Window {
  std::vector<RowGroup> groups;
  std::vector<std::int32_t> rows;
  std::int64_t columns = 0;
};

Window groups_of(Offsets offsets, ColumnIndices columns, std::int64_t first, std::int64_t last) {
  std::vector<std::vector<std::int32_t>> same;  // rows with the same columns
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash;
  for (std::int64_t row = first; row < last; ++row) {
    const ColumnIndices own = columns_of(offsets, columns, row);
    const std::uint64_t hash = hash_of(own);
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) {
      return std::ranges::equal(own, columns_of(offsets, columns, same[entry.second].front()));
    });
    if (found != end) {
      same[found->second].push_back(static_cast<std::int32_t>(row));
    } else {
      by_hash.emplace(hash, same.size());
      same.push_back({static_cast<std::int32_t>(row)});
    }
  }
  Window window;
  for (const std::vector<std::int32_t>& rows : same) {
    const auto length = static_cast<std::int32_t>(offsets[rows[0] + 1] - offsets[rows[0]]);
    const auto pieces = (std::ssize(rows) + RowGroup::most_rows - 1) / RowGroup::most_rows;
    for (std::ptrdiff_t piece = 0; piece < pieces; ++piece) {
      const std::ptrdiff_t begin = std::ssize(rows) * piece / pieces, end = std::ssize(rows) * (piece + 1) / pieces;
      window.groups.push_back({window.columns, static_cast<std::int32_t>(window.rows.size()), length,
                               static_cast<std::int32_t>(end - begin)});
      window.rows.insert(window.rows.end(), rows.begin() + begin, rows.begin() + end);
      window.columns += length;
    }
  }
  return window;
}

}  // namespace

SharedColumns share_columns(Offsets offsets, ColumnIndices columns, std::int64_t rows_of_window) {
  const std::int64_t rows = std::ssize(offsets) - 1, windows = (rows + rows_of_window - 1) / rows_of_window;
  std::vector<Window> of_window(windows);
  std::vector<std::int64_t> first_group(windows + 1, 0), first_column(windows + 1, 0);
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t w = 0; w < windows; ++w)
    failure.guard(w, [&] {
      of_window[w] = groups_of(offsets, columns, w * rows_of_window, std::min(rows, (w + 1) * rows_of_window));
      first_group[w + 1] = std::ssize(of_window[w].groups);
      first_column[w + 1] = of_window[w].columns;
    });
  failure.rethrow();
  std::partial_sum(first_group.begin(), first_group.end(), first_group.begin());
  std::partial_sum(first_column.begin(), first_column.end(), first_column.begin());
  SharedColumns shared{Vector<RowGroup>(first_group.back()), Vector<std::int32_t>(first_column.back()),
                       Vector<std::int32_t>(windows > 0 ? rows : 0), Vector<std::int64_t>(windows > 0 ? rows : 0)};
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t w = 0; w < windows; ++w) {
    const std::int64_t first_row = w * rows_of_window;
    for (RowGroup& group : of_window[w].groups) {
      const std::int32_t row = of_window[w].rows[group.first_row];
      group.first_column += first_column[w];
      group.first_row += static_cast<std::int32_t>(first_row);
      std::ranges::copy(columns_of(offsets, columns, row), shared.columns.data() + group.first_column);
    }
    std::ranges::copy(of_window[w].groups, shared.groups.data() + first_group[w]);
    std::ranges::copy(of_window[w].rows, shared.rows.data() + first_row);
    std::ranges::transform(of_window[w].rows, shared.first_entries.data() + first_row,
                           [&](std::int32_t row) { return offsets[row]; });
  }
  return shared;
}

double column_sharing(Offsets offsets, ColumnIndices columns) {
  constexpr std::int64_t samples = 32, rows_of_window = 4096;
  const std::int64_t rows = std::ssize(offsets) - 1;
  const std::int64_t windows = std::max<std::int64_t>(rows / rows_of_window, 1);
  std::int64_t entries = 0, stored = 0;
  mesh::FirstFailure failure;
#pragma omp parallel for schedule(dynamic) reduction(+ : entries, stored)
  for (std::int64_t s = 0; s < std::min(samples, windows); ++s)
    failure.guard(s, [&] {
      const std::int64_t first = s * windows / std::min(samples, windows) * rows_of_window;
      const std::int64_t last = std::min(rows, first + rows_of_window);
      entries += offsets[last] - offsets[first];
      stored += groups_of(offsets, columns, first, last).columns;
    });
  failure.rethrow();
  return stored > 0 ? static_cast<double>(entries) / static_cast<double>(stored) : 1.0;
}

}  // namespace femcg::operators

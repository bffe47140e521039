#include "solver/prediction/models/product_features.hpp"

#include <algorithm>
#include <numeric>

namespace femcg::solver {

namespace {

/// Rows by descending length; equal lengths in their order.
std::vector<std::int32_t> by_length(std::span<const std::int64_t> offsets) {
  const auto length = [&](std::int64_t row) { return offsets[row + 1] - offsets[row]; };
  const std::int64_t rows = std::ssize(offsets) - 1;
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows; ++row) longest = std::max(longest, length(row));
  std::vector<std::int64_t> begins(static_cast<std::size_t>(longest + 2));
  for (std::int64_t row = 0; row < rows; ++row) ++begins[static_cast<std::size_t>(longest - length(row) + 1)];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row)
    order[static_cast<std::size_t>(begins[static_cast<std::size_t>(longest - length(row))]++)] =
        static_cast<std::int32_t>(row);
  return order;
}

/// Number of distinct lines of x that a group of rows fetches, summed over its steps; `lines`: scratch for one step.
std::int64_t lines_of_group(const std::vector<std::span<const std::int32_t>>& group, int entries, std::int64_t words,
                            std::vector<std::int64_t>& lines) {
  std::int64_t sum = 0;
  for (std::size_t first = 0;; first += static_cast<std::size_t>(entries)) {
    lines.clear();
    for (const auto& row : group)
      for (std::size_t k = first; k < std::min(row.size(), first + static_cast<std::size_t>(entries)); ++k)
        lines.push_back(row[k] / words);
    if (lines.empty()) return sum;
    std::ranges::sort(lines);
    sum += std::ranges::unique(lines).begin() - lines.begin();
  }
}

}  // namespace

std::vector<std::vector<std::int32_t>> columns_of_rows(const operators::BilinearForm& form,
                                                       const std::vector<std::int32_t>& rows) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(form.unknowns), -1);
  for (std::size_t i = 0; i < rows.size(); ++i) place[static_cast<std::size_t>(rows[i])] = static_cast<std::int32_t>(i);
  std::vector<std::vector<std::int32_t>> columns(rows.size());
  std::vector<std::int32_t> of_cell;
  for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
    of_cell.clear();
    form.for_unknowns(cell, [&](std::int32_t i) { of_cell.push_back(i); });
    for (const std::int32_t i : of_cell)
      if (const std::int32_t at = place[static_cast<std::size_t>(i)]; at >= 0)
        columns[static_cast<std::size_t>(at)].insert(columns[static_cast<std::size_t>(at)].end(), of_cell.begin(),
                                                     of_cell.end());
  }
  for (auto& of_row : columns) {
    std::ranges::sort(of_row);
    of_row.erase(std::ranges::unique(of_row).begin(), of_row.end());
  }
  return columns;
}

ProductFeatures features_of(const Product& product, const RowSteps& by) {
  const std::span<const std::int64_t> offsets = product.row_offsets;
  const std::int64_t rows = std::ssize(offsets) - 1, groups = (rows + by.rows - 1) / by.rows;
  ProductFeatures found;
  found.rows = static_cast<double>(rows);
  found.nonzeros = static_cast<double>(offsets.back());
  found.moved_bytes = static_cast<double>(product.estimate->product.moved_bytes);
  found.working_bytes = static_cast<double>(product.estimate->product.stored_bytes) +
                        2.0 * product.word_bytes * static_cast<double>(rows);
  found.input_bytes = product.input_bytes;

  const auto length = [&](std::int64_t row) { return offsets[row + 1] - offsets[row]; };
  for (std::int64_t row = 4; row < rows; ++row) {
    const std::int64_t own = length(row);
    if (own != length(row - 1) && own != length(row - 2) && own != length(row - 3) && own != length(row - 4))
      ++found.irregular;
  }

  const std::vector<std::int32_t> order = by.sorted ? by_length(offsets) : std::vector<std::int32_t>();
  const auto row_at = [&](std::int64_t position) {
    return by.sorted ? std::int64_t{order[static_cast<std::size_t>(position)]} : position;
  };
  for (std::int64_t group = 0; group < groups; ++group) {
    std::int64_t longest = 0;
    for (std::int64_t p = group * by.rows; p < std::min(rows, (group + 1) * by.rows); ++p)
      longest = std::max(longest, length(row_at(p)));
    const auto steps = static_cast<double>((longest + by.entries - 1) / by.entries);
    found.steps += steps;
    found.longest_steps = std::max(found.longest_steps, steps);
  }
  if (by.to_longest) found.steps = found.longest_steps * static_cast<double>(groups);

  // Evenly spaced runs of rows, in the order of the threads.
  constexpr std::int64_t rows_of_block = 128, sampled_blocks = 20;
  std::vector<std::int32_t> sampled;
  const std::int64_t blocks = (rows + rows_of_block - 1) / rows_of_block, count = std::min(blocks, sampled_blocks);
  const auto first_at = [&](std::int64_t i) { return blocks * i / std::max<std::int64_t>(count, 1) * rows_of_block; };
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t p = first_at(i); p < std::min(rows, first_at(i) + rows_of_block); ++p)
      sampled.push_back(static_cast<std::int32_t>(row_at(p)));
  std::ranges::sort(sampled);
  const auto columns = product.columns.empty() && product.form != nullptr ? columns_of_rows(*product.form, sampled)
                                                                          : std::vector<std::vector<std::int32_t>>();
  const auto columns_of = [&](std::int64_t row) -> std::span<const std::int32_t> {
    if (columns.empty())
      return product.columns.subspan(static_cast<std::size_t>(offsets[row]), static_cast<std::size_t>(length(row)));
    return columns[static_cast<std::size_t>(std::ranges::lower_bound(sampled, row) - sampled.begin())];
  };
  std::vector<std::span<const std::int32_t>> group;
  std::vector<std::int64_t> room;
  std::int64_t lines = 0, lines_of_blocks = 0, entries = 0;
  const std::int64_t words = by.line_bytes / product.word_bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> of_block;
    for (std::int64_t p = first_at(i); p < std::min(rows, first_at(i) + rows_of_block);) {
      group.clear();
      for (int k = 0; k < by.rows && p < rows; ++k, ++p) {
        group.push_back(columns_of(row_at(p)));
        for (const std::int32_t column : group.back()) of_block.push_back(column / words);
      }
      lines += lines_of_group(group, by.entries, words, room);
    }
    entries += std::ssize(of_block);
    std::ranges::sort(of_block);
    lines_of_blocks += std::ranges::unique(of_block).begin() - of_block.begin();
  }
  const double share = entries > 0 ? found.nonzeros / static_cast<double>(entries) : 0;
  found.lines = static_cast<double>(lines) * share;
  found.lines_of_blocks = static_cast<double>(lines_of_blocks) * share;
  return found;
}

}  // namespace femcg::solver

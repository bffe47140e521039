#include "operators/persistent/row_layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace femcg::operators {

namespace {

constexpr std::int64_t most_rows_a_block = std::int64_t{persistent_threads} * persistent_rows_per_group;

/// A single block need not wait for others, which takes longer than this many entries.
constexpr std::int64_t entries_of_lone_block = 12288;
/// Otherwise entries per block.
constexpr std::int64_t entries_per_block = 4096;
/// Cost of a row besides its entries, in entries.
constexpr std::int64_t entries_of_row = 4;

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t choose_blocks(std::int64_t rows, std::int64_t entries, std::int64_t most_blocks) {
  if (entries <= entries_of_lone_block && rows <= persistent_threads) return 1;
  return std::min(std::max(ceiling(entries, entries_per_block), ceiling(rows, persistent_threads)), most_blocks);
}

/// Cuts the rows into contiguous ranges of about equal work.
void cut_rows(RowLayout& layout, std::span<const std::int32_t> lengths, std::int64_t work) {
  const auto rows = static_cast<std::int64_t>(lengths.size()), blocks = static_cast<std::int64_t>(layout.blocks.size());
  std::int64_t row = 0, done = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = row, most = std::min(rows, first + most_rows_a_block),
                       least = std::max(first, rows - (blocks - b - 1) * most_rows_a_block);
    while (row < least || (row < most && done < ceiling(work * (b + 1), blocks)))
      done += lengths[row++] + entries_of_row;
    layout.blocks[b].first_row = static_cast<std::int32_t>(first);
    layout.blocks[b].rows = static_cast<std::int32_t>(row - first);
  }
}

/// Threads per row: as many as there are, but not so many that each has fewer than a few entries.
std::int32_t choose_group(std::int64_t rows, std::int64_t entries) {
  std::int32_t group = 1;
  while (group < persistent_slice_lanes && 2 * group * rows <= persistent_threads && 4 * group * rows <= entries)
    group *= 2;
  return group;
}

/// Sets the slices of one block, whose rows are sorted.
void cut_slices(RowLayout& layout, std::size_t b, std::span<const std::int32_t> lengths) {
  const PersistentBlock& block = layout.blocks[b];
  const std::int32_t rows_per_slice = persistent_slice_lanes / block.group;
  PersistentSlice* slices = layout.slices.data() + b * persistent_slices_per_block;
  for (std::int32_t row = 0; row < block.rows; row += rows_per_slice)
    slices[row / rows_per_slice].tail_length =
        static_cast<std::int32_t>(ceiling(lengths[layout.order[block.first_row + row]], block.group));
}

/// Entries of a block's heads if each thread has at most `longest_tail` entries in the tail of a slice.
std::int64_t entries_of_heads(std::span<const PersistentSlice> slices, std::int32_t longest_tail) {
  std::int64_t entries = 0;
  for (const PersistentSlice& slice : slices)
    entries += persistent_slice_lanes * std::int64_t{std::max(0, slice.head_length + slice.tail_length - longest_tail)};
  return entries;
}

/// Sets the offsets of all heads and tails of a block, with tails of at most `longest_tail` entries per thread.
void place_slices(std::span<PersistentSlice> slices, std::int32_t longest_tail, PersistentBlock& block,
                  std::int32_t& tail) {
  block.head_entries = tail = 0;
  for (PersistentSlice& slice : slices) {
    const std::int32_t length = slice.head_length + slice.tail_length, of_tail = std::min(longest_tail, length);
    slice = {block.head_entries, length - of_tail, tail, of_tail};
    block.head_entries += persistent_slice_lanes * slice.head_length;
    tail += persistent_slice_lanes * slice.tail_length;
  }
}

}  // namespace

void RowLayout::fill_heads(std::span<const std::int64_t> room_bytes, std::int64_t entry_bytes) {
  head_entries = tail_entries = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::span<PersistentSlice> of_block(slices.data() + b * persistent_slices_per_block,
                                              persistent_slices_per_block);
    std::int32_t low = 0, high = 0;  // bounds of the shortest tail with which heads fit
    for (const PersistentSlice& slice : of_block) high = std::max(high, slice.head_length + slice.tail_length);
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (entries_of_heads(of_block, middle) * entry_bytes <= room_bytes[b])
        high = middle;
      else
        low = middle + 1;
    }
    std::int32_t tail = 0;
    place_slices(of_block, low, blocks[b], tail);
    blocks[b].head = head_entries;
    blocks[b].tail = tail_entries;
    head_entries += blocks[b].head_entries;
    tail_entries += tail;
  }
}

int RowLayout::rows_per_group() const {
  std::int32_t most = 1;
  for (const PersistentBlock& block : blocks) most = std::max(most, block.rows * block.group);
  return static_cast<int>(ceiling(most, persistent_threads));
}

std::int64_t persistent_bytes(std::int64_t rows, std::int64_t entries, std::int64_t value_bytes) {
  constexpr std::int64_t bytes_of_row = 8, bytes_of_stamped = 16;
  return entries * (value_bytes + 4) + rows * (bytes_of_row + bytes_of_stamped);
}

RowLayout lay_out_rows(std::span<const std::int32_t> lengths, std::span<const std::int32_t> by_number,
                       std::int64_t most_blocks) {
  if (!by_number.empty()) {
    std::vector<std::int32_t> sequence(lengths.size());
    std::ranges::transform(by_number, sequence.begin(), [&](std::int32_t i) { return lengths[i]; });
    RowLayout layout = lay_out_rows(sequence, {}, most_blocks);
    for (std::int32_t& i : layout.order) i = by_number[i];
    return layout;
  }
  const auto rows = static_cast<std::int64_t>(lengths.size());
  if (rows > most_blocks * most_rows_a_block) throw std::invalid_argument("more rows than a persistent kernel has");
  const std::int64_t entries = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  const std::int64_t blocks = choose_blocks(rows, entries, most_blocks);
  RowLayout layout;
  layout.blocks.resize(static_cast<std::size_t>(blocks));
  layout.slices.resize(static_cast<std::size_t>(blocks * persistent_slices_per_block));
  cut_rows(layout, lengths, entries + rows * entries_of_row);
  layout.order.resize(lengths.size());
  std::iota(layout.order.begin(), layout.order.end(), 0);
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    PersistentBlock& block = layout.blocks[b];
    const std::span<const std::int32_t> of_block =
        lengths.subspan(static_cast<std::size_t>(block.first_row), static_cast<std::size_t>(block.rows));
    block.group = choose_group(block.rows, std::accumulate(of_block.begin(), of_block.end(), std::int64_t{0}));
    const auto first = layout.order.begin() + block.first_row;
    std::stable_sort(first, first + block.rows,
                     [&](std::int32_t i, std::int32_t j) { return lengths[i] > lengths[j]; });
    cut_slices(layout, b, lengths);
  }
  return layout;
}

WindowCount::WindowCount(const RowLayout& layout, std::int64_t rows)
    : words_(static_cast<std::size_t>((rows + 63) / 64)),
      block_of_(static_cast<std::size_t>(rows)),
      touched_(layout.blocks.size() * words_) {
  for (std::size_t b = 0; b < layout.blocks.size(); ++b)
    for (std::int32_t k = 0; k < layout.blocks[b].rows; ++k)
      block_of_[static_cast<std::size_t>(layout.order[layout.blocks[b].first_row + k])] = static_cast<std::int32_t>(b);
}

std::int64_t WindowCount::widest() const {
  std::int64_t widest = 0;
  for (std::size_t first = 0; first < touched_.size(); first += words_) {
    std::int64_t window = 0;
    for (std::size_t word = first; word < first + words_; ++word) window += std::popcount(touched_[word]);
    widest = std::max(widest, window);
  }
  return widest;
}

}  // namespace femcg::operators

// Assignment of rows to the blocks of the persistent kernel, and layout of their entries: complete, without duplicates,
// within the limits of a block.

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>

#include "operators/persistent/row_layout.hpp"

using namespace femcg::operators;

namespace {

/// Checks that every block has consecutive rows, sorted by length, each once.
void check_rows(const RowLayout& layout, const std::vector<std::int32_t>& lengths) {
  REQUIRE(layout.order.size() == lengths.size());
  std::int32_t row = 0;
  for (const PersistentBlock& block : layout.blocks) {
    CHECK(block.first_row == row);
    CHECK(block.rows * block.group <= persistent_threads * persistent_rows_per_group);
    std::vector<std::int32_t> rows(layout.order.begin() + row, layout.order.begin() + row + block.rows);
    CHECK(std::is_sorted(rows.begin(), rows.end(),
                         [&](std::int32_t i, std::int32_t j) { return lengths[i] > lengths[j]; }));
    std::sort(rows.begin(), rows.end());
    for (const std::int32_t number : rows) CHECK(number == row++);
  }
  CHECK(row == static_cast<std::int32_t>(lengths.size()));
}

/// Checks that slices have room for each row, and do not overlap.
void check_entries(const RowLayout& layout, const std::vector<std::int32_t>& lengths) {
  std::int64_t head = 0, tail = 0;
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    const PersistentBlock& block = layout.blocks[b];
    const PersistentSlice* slices = layout.slices.data() + b * persistent_slices_per_block;
    CHECK(block.head == head);
    CHECK(block.tail == tail);
    std::int32_t of_head = 0, of_tail = 0;
    for (int s = 0; s < persistent_slices_per_block; ++s) {
      CHECK(slices[s].head == of_head);
      CHECK(slices[s].tail == of_tail);
      of_head += persistent_slice_lanes * slices[s].head_length;
      of_tail += persistent_slice_lanes * slices[s].tail_length;
    }
    CHECK(block.head_entries == of_head);
    for (std::int32_t i = 0; i < block.rows; ++i) {
      const PersistentSlice& slice = slices[i * block.group / persistent_slice_lanes];
      CHECK((slice.head_length + slice.tail_length) * block.group >= lengths[layout.order[block.first_row + i]]);
    }
    head += of_head;
    tail += of_tail;
  }
  CHECK(layout.head_entries == head);
  CHECK(layout.tail_entries == tail);
}

/// Checks that the longest tail of each block is as short as the room allows: heads belong to longer rows.
void check_heads(const RowLayout& layout, std::int64_t room, std::int64_t entry_bytes) {
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    const std::span<const PersistentSlice> slices(layout.slices.data() + b * persistent_slices_per_block,
                                                  persistent_slices_per_block);
    std::int32_t longest = 0;
    for (const PersistentSlice& slice : slices) longest = std::max(longest, slice.tail_length);
    std::int64_t with_one_less = 0;
    for (const PersistentSlice& slice : slices) {
      const std::int32_t length = slice.head_length + slice.tail_length;
      CHECK(slice.tail_length == std::min(length, longest));
      with_one_less += persistent_slice_lanes * std::int64_t{std::max(0, length - (longest - 1))};
    }
    if (longest > 0) CHECK(with_one_less * entry_bytes > room);
  }
}

std::vector<std::vector<std::int32_t>> cases() {
  std::vector<std::vector<std::int32_t>> cases{{1}, {0}, {7, 0, 3}, std::vector<std::int32_t>(1000, 9)};
  cases.emplace_back(1025, 9);
  cases.emplace_back(5 * 2048, 9);
  std::mt19937 random(5);
  for (const std::int32_t rows : {63, 2999, 9001}) {
    std::vector<std::int32_t> lengths(rows);
    for (std::int32_t& length : lengths) length = static_cast<std::int32_t>(9 + random() % 73);
    cases.push_back(lengths);
    std::sort(lengths.rbegin(), lengths.rend());
    cases.push_back(lengths);
    std::fill(lengths.begin(), lengths.end(), 2);
    lengths[rows / 2] = rows;
    cases.push_back(lengths);
  }
  return cases;
}

}  // namespace

TEST_CASE("rows are shared out over the blocks of a persistent kernel") {
  for (const std::vector<std::int32_t>& lengths : cases()) {
    CAPTURE(lengths.size());
    RowLayout layout = lay_out_rows(lengths, {}, 5);
    CHECK(layout.blocks.size() <= 5);
    check_rows(layout, lengths);
    const std::int64_t padded = [&] {
      layout.fill_heads(std::vector<std::int64_t>(layout.blocks.size(), 0), 10);
      check_entries(layout, lengths);
      CHECK(layout.head_entries == 0);
      return layout.tail_entries;
    }();
    for (const std::int64_t room : {std::int64_t{5000}, std::int64_t{60000}, std::int64_t{1} << 40}) {
      layout.fill_heads(std::vector<std::int64_t>(layout.blocks.size(), room), 10);
      check_entries(layout, lengths);
      check_heads(layout, room, 10);
      for (const PersistentBlock& block : layout.blocks) CHECK(block.head_entries * 10 <= room);
      CHECK(layout.head_entries + layout.tail_entries == padded);
    }
    CHECK(layout.tail_entries == 0);
  }
}

TEST_CASE("a small system has one block, and work is about equal else") {
  CHECK(lay_out_rows(std::vector<std::int32_t>(1000, 9), {}, 132).blocks.size() == 1);
  std::vector<std::int32_t> lengths(20000, 81);  // like sorted rows of degree 4
  std::fill(lengths.begin() + 8000, lengths.end(), 25);
  const RowLayout layout = lay_out_rows(lengths, {}, 132);
  CHECK(layout.blocks.size() == 132);
  const std::int64_t all = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (const PersistentBlock& block : layout.blocks) {
    std::int64_t entries = 0;
    for (std::int32_t i = 0; i < block.rows; ++i) entries += lengths[layout.order[block.first_row + i]];
    CHECK(entries * 132 < all * 5 / 4);
  }
}

TEST_CASE("more rows than threads are refused") {
  CHECK_NOTHROW(lay_out_rows(std::vector<std::int32_t>(3 * 2048, 1), {}, 3));
  CHECK_THROWS_AS(lay_out_rows(std::vector<std::int32_t>(3 * 2048 + 1, 1), {}, 3), std::invalid_argument);
}

TEST_CASE("a block of few long rows has more threads for each") {
  std::vector<std::int32_t> lengths(3000, 10);
  std::fill(lengths.begin(), lengths.begin() + 60, 500);
  const RowLayout layout = lay_out_rows(lengths, {}, 4);
  REQUIRE(layout.blocks.size() == 4);
  CHECK(layout.blocks.front().rows < 64);
  CHECK(layout.blocks.front().group == 16);
  CHECK(layout.blocks.back().group == 1);
  CHECK(layout.rows_per_group() == 2);
  check_rows(layout, lengths);
}

TEST_CASE("blocks have neighbours of the mesh, however a format sorts its rows") {
  // Row i of a ring reaches 1 or 40 rows on both sides; a format puts the long ones first.
  constexpr std::int32_t rows = 6000;
  const auto reach = [](std::int32_t i) { return i % 3 == 0 ? 40 : 1; };
  std::vector<std::int32_t> natural(rows), sorted(rows), row_at(rows), by_number(rows);
  for (std::int32_t i = 0; i < rows; ++i) natural[i] = 2 * reach(i) + 1;
  std::iota(row_at.begin(), row_at.end(), 0);
  std::ranges::stable_sort(row_at, [&](std::int32_t i, std::int32_t j) { return natural[i] > natural[j]; });
  for (std::int32_t position = 0; position < rows; ++position) {
    sorted[position] = natural[row_at[position]];
    by_number[row_at[position]] = position;
  }
  const RowLayout expected = lay_out_rows(natural, {}, 132), layout = lay_out_rows(sorted, by_number, 132);
  REQUIRE(layout.blocks.size() == expected.blocks.size());
  for (std::int32_t k = 0; k < rows; ++k) CHECK(row_at[layout.order[k]] == expected.order[k]);
  const auto widest = [&](const RowLayout& of) {
    WindowCount windows(of, rows);
    for (std::int32_t position = 0; position < rows; ++position)
      for (std::int32_t distance = -reach(row_at[position]); distance <= reach(row_at[position]); ++distance)
        windows.add(position, by_number[(row_at[position] + distance + rows) % rows]);
    return windows.widest();
  };
  std::int32_t most = 0;
  for (const PersistentBlock& block : layout.blocks) most = std::max(most, block.rows);
  CHECK(widest(layout) >= most + 40);
  CHECK(widest(layout) <= most + 80);
  CHECK(widest(lay_out_rows(sorted, {}, 132)) > 2 * widest(layout));
}

static_assert(persistent_window_fits(13'000, 8, 220'000) && !persistent_window_fits(14'000, 8, 220'000));
static_assert(!persistent_window_fits(70'000, 1, 220'000));

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace femcg::operators {

/// Threads of a block of the persistent kernel, and the rows that a group of them has at most.
constexpr int persistent_threads = 1024;
constexpr int persistent_rows_per_group = 2;

/// A slice is what one warp has of the matrix at one go.
constexpr int persistent_slice_lanes = 32;
constexpr int persistent_slices_per_block = persistent_rows_per_group * persistent_threads / persistent_slice_lanes;

/// The entries of 32 neighbouring threads: thread t has entries t, t + 32, ... Those of the head are in shared memory,
/// those of the tail, which found no room there, come from the L2 cache. Places are within the block's head
/// and tail.
struct PersistentSlice {
  std::int32_t head, head_length;  ///< where it begins, and entries per thread
  std::int32_t tail, tail_length;
};

/// What one block of threads has of the matrix.
struct PersistentBlock {
  std::int32_t first_row, rows;  ///< places in RowLayout::order
  std::int32_t group;            ///< threads per row
  std::int32_t window, halo;     ///< distinct columns of its rows and its rows; those of them that are other blocks'
  std::int64_t head, tail;       ///< where its entries begin among those of all blocks
  std::int64_t first_halo;       ///< where its halo begins
  std::int32_t head_entries;     ///< of all its slices
};

/// Which block of the persistent kernel (PersistentCg) has which rows, and how their entries lie. A block has
/// neighbouring rows, sorted by length, as in SELL-C-sigma (Kreutzer et al. 2014) with C = 32 / group and a sorting
/// scope of the block. Where a block has few rows, for they are long, each has the more threads.
struct RowLayout {
  std::vector<std::int32_t> order;                  ///< rows, block by block, longest first
  std::vector<PersistentBlock> blocks;              ///< window and halo still zero
  std::vector<PersistentSlice> slices;              ///< persistent_slices_per_block a block; all in the tail at first
  std::int64_t head_entries = 0, tail_entries = 0;  ///< of all blocks

  /// Moves entries into heads, those of the longest slices of a block first, as `room_bytes(block)` allow at
  /// `entry_bytes` an entry: a block waits for the longest of its tails, which are read in batches, one after the
  /// other.
  void fill_heads(std::span<const std::int64_t> room_bytes, std::int64_t entry_bytes);
  /// The most rows that a group of threads has.
  int rows_per_group() const;
};

/// The layout of rows with so many entries each, at least one row, on a GPU that holds `most_blocks` blocks at once.
/// Blocks have neighbours of the sequence `by_number`, or of the rows as they are where it is empty. Throws
/// std::invalid_argument where these have no threads for all rows.
RowLayout lay_out_rows(std::span<const std::int32_t> lengths, std::span<const std::int32_t> by_number,
                       std::int64_t most_blocks);

/// True if a block's window of so many entries of u pays in shared memory: one that takes more than half of it is
/// rather not filled in every iteration.
constexpr bool persistent_window_fits(std::int64_t entries, std::int64_t word_bytes, std::int64_t room_bytes) {
  constexpr std::int64_t most_places = 65536;
  return entries <= most_places && entries * word_bytes <= room_bytes / 2;
}

/// The windows of a layout, counted on the host: the distinct entries of u that the rows of each block touch.
class WindowCount {
 public:
  WindowCount(const RowLayout& layout, std::int64_t rows);
  /// Row i has an entry in this column.
  void add(std::int32_t i, std::int32_t column) {
    touched_[static_cast<std::size_t>(block_of_[static_cast<std::size_t>(i)]) * words_ + column / 64] |=
        std::uint64_t{1} << column % 64;
  }
  std::int64_t widest() const;

 private:
  std::size_t words_;  ///< a bit for every entry of u
  std::vector<std::int32_t> block_of_;
  std::vector<std::uint64_t> touched_;
};

/// True if a persistent kernel is expected to be faster than launches with so many entries. Threads that wait for each
/// other read tails at half the rate of a product of its own, once these do not stay in the L2 cache: on an H100 it
/// takes 54 us an iteration for 61 with 119 MB, 74 for 73 with 128, and 108 for 92 with 210.
constexpr bool persistent_is_faster(std::int64_t entries, std::int64_t value_bytes) {
  constexpr std::int64_t place_bytes = 2, most_bytes = 125'000'000;
  return entries * (value_bytes + place_bytes) <= most_bytes;
}

/// Bytes of a GPU that a persistent kernel takes for `entries` of so many bytes a value and 32-bit columns, with their
/// rows, and for what its blocks tell each other. Padding and halos, which depend on the order of rows, are not in it,
/// nor that columns may take 16 bits.
std::int64_t persistent_bytes(std::int64_t rows, std::int64_t entries, std::int64_t value_bytes);

}  // namespace femcg::operators

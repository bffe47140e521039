#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace femcg::operators {

/// Threads of a block of the persistent kernel, and the most rows of a group of threads.
constexpr int persistent_threads = 1024;
constexpr int persistent_rows_per_group = 2;

/// Lanes of a slice, the unit that one warp multiplies by at a time.
constexpr int persistent_slice_lanes = 32;
constexpr int persistent_slices_per_block = persistent_rows_per_group * persistent_threads / persistent_slice_lanes;

/// Entries of 32 adjacent threads: thread t has entries t, t + 32, ... The head is in shared memory; the tail, entries
/// that do not fit there, comes from the L2 cache. Offsets are within the block's head and tail.
struct PersistentSlice {
  std::int32_t head, head_length;  ///< offset, and entries per thread
  std::int32_t tail, tail_length;
};

/// The part of the matrix of one thread block.
struct PersistentBlock {
  std::int32_t first_row, rows;  ///< range of RowLayout::order
  std::int32_t group;            ///< threads per row
  std::int32_t window, halo;     ///< distinct columns of its rows and its rows; other blocks' among them
  std::int64_t head, tail;       ///< offsets of its entries among those of all blocks
  std::int64_t first_halo;       ///< offset of its halo
  std::int32_t head_entries;     ///< over all its slices
};

/// Distribution of the rows over the blocks of the persistent kernel (PersistentCg), and order of their entries. A
/// block has neighbouring rows, sorted by length, as in SELL-C-sigma (Kreutzer et al. 2014) with C = 32 / group and the
/// block as sorting scope. In blocks of few, long rows each row has more threads.
struct RowLayout {
  std::vector<std::int32_t> order;                  ///< rows, block by block, longest first
  std::vector<PersistentBlock> blocks;              ///< window and halo are 0 at first
  std::vector<PersistentSlice> slices;              ///< persistent_slices_per_block a block; all tail at first
  std::int64_t head_entries = 0, tail_entries = 0;  ///< over all blocks

  /// Moves entries into heads, those of the longest slices of a block first, up to room_bytes[block] bytes at
  /// `entry_bytes` an entry: a block waits for the longest of its tails, which are read in batches one after the other.
  void fill_heads(std::span<const std::int64_t> room_bytes, std::int64_t entry_bytes);
  /// Most rows of a group of threads.
  int rows_per_group() const;
};

/// The layout of rows with these lengths, at least one row, for a GPU that holds `most_blocks` blocks concurrently.
/// Blocks are contiguous in the sequence `by_number`, or in the rows as they are if that is empty. Throws
/// std::invalid_argument if the blocks have no threads for all rows.
RowLayout lay_out_rows(std::span<const std::int32_t> lengths, std::span<const std::int32_t> by_number,
                       std::int64_t most_blocks);

/// True if a window of so many entries of u pays in shared memory: filling one that takes more than half of it in every
/// iteration does not.
constexpr bool persistent_window_fits(std::int64_t entries, std::int64_t word_bytes, std::int64_t room_bytes) {
  constexpr std::int64_t most_places = 65536;
  return entries <= most_places && entries * word_bytes <= room_bytes / 2;
}

/// The windows of a layout, computed on the host: the distinct entries of u that the rows of each block use.
class WindowCount {
 public:
  WindowCount(const RowLayout& layout, std::int64_t rows);
  /// Adds an entry of the matrix.
  void add(std::int32_t i, std::int32_t column) {
    touched_[static_cast<std::size_t>(block_of_[static_cast<std::size_t>(i)]) * words_ + column / 64] |=
        std::uint64_t{1} << column % 64;
  }
  std::int64_t widest() const;

 private:
  std::size_t words_;  ///< of a bit set over the entries of u
  std::vector<std::int32_t> block_of_;
  std::vector<std::uint64_t> touched_;
};

/// True if a persistent kernel is expected to be faster than launches with so many entries. Its threads, which wait for
/// each other, read tails at half the bandwidth of a separate product once tails do not stay in the L2 cache: on an
/// H100 an iteration takes 54 us against 61 us with 119 MB, 74 against 73 with 128 MB, and 108 against 92 with 210 MB.
constexpr bool persistent_is_faster(std::int64_t entries, std::int64_t value_bytes) {
  constexpr std::int64_t place_bytes = 2, most_bytes = 125'000'000;
  return entries * (value_bytes + place_bytes) <= most_bytes;
}

/// GPU memory of a persistent kernel in bytes, for `entries` entries of `value_bytes` and 32-bit column indices, rows
/// and exchange buffers. Padding and halos, which depend on the order of rows, are not included, nor the savings of
/// 16-bit indices.
std::int64_t persistent_bytes(std::int64_t rows, std::int64_t entries, std::int64_t value_bytes);

}  // namespace femcg::operators

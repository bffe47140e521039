#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/stored/common/row_chunks.hpp"

namespace femcg::operators {

/// Product of compressed rows on a GPU.
enum class CsrProduct {
  streamed,        ///< a block per run of rows (streamed_rows.cuh)
  cooperative,     ///< groups of threads per row (csr_cooperative.cu)
  shared_columns,  ///< a warp per group of rows with equal columns (csr_shared_columns.cu)
  automatic        ///< shared columns if enough rows share them, else streamed
};
struct CsrLaunch {
  CsrProduct product = CsrProduct::automatic;
  int coop = 0;    ///< threads per row
  int repeat = 1;  ///< rows per group of threads, one after the other
  int block_size = 128;
  bool narrow = true;  ///< 16-bit columns if they fit (streamed only)
  bool wide = true;    ///< 32-bit columns if 16 bits do not fit, or are not wanted
};

/// The launch that the options ask for. Throws std::invalid_argument if they contradict each other.
CsrLaunch chosen_csr_launch(std::int64_t rows, std::int64_t nonzeros, const Options& given);

/// GPU memory for a matrix in chunks of rows; nothing if the GPU holds the whole matrix. Throws std::invalid_argument
/// if the options contradict each other.
template <std::floating_point T>
std::optional<ChunkBudget> chosen_csr_budget(const Extent<T>& of, const Options& given);

/// The cooperative product on the GPU of a matrix on the host. Values are of type T, or float in a loop of double
/// precision.
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                                  const CsrLaunch& launch);

/// The product on the GPU with shared columns (shared_columns.hpp).
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_shared_columns_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal);

namespace streamed {

/// A run of rows for one thread block.
struct Tile {
  std::int64_t first_entry;
  std::int32_t first_row;
  std::int32_t base;  ///< added to its stored columns
};

/// Contiguous entries that a thread loads at a time.
template <class T>
constexpr int run_length = sizeof(T) == 8 ? 4 : 2;
/// First entry of the run that contains an entry.
template <class T>
constexpr std::int64_t run_begin(std::int64_t entry) {
  return entry / run_length<T> * run_length<T>;
}
/// Most nonzeros of a tile: 8 KiB of products, even if the tile does not begin at a run.
template <class T>
constexpr int tile = 8192 / sizeof(T) - run_length<T>;

/// Cuts the rows into tiles of at most `tile` nonzeros and 1024 rows, followed by the end of the last; a longer row is
/// a tile of its own, and without rows there is an empty one. T is the type of the products.
template <class T, class Value>
std::vector<Tile> cut_into_tiles(const CsrMatrix<Value>& matrix) {
  constexpr std::int32_t most_rows = 1024;
  std::vector<Tile> tiles{{0, 0, 0}};
  const std::int64_t* offsets = matrix.row_offsets.data();
  for (std::int32_t row = 1; row < matrix.rows; ++row)
    if (offsets[row + 1] - tiles.back().first_entry > tile<T> || row - tiles.back().first_row == most_rows)
      tiles.push_back({offsets[row], row, 0});
  tiles.push_back({matrix.nonzeros(), matrix.rows, 0});
  return tiles;
}

}  // namespace streamed

}  // namespace femcg::operators

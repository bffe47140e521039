#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "operators/catalogue.hpp"
#include "operators/stored/common/row_chunks.hpp"

namespace femcg::operators {

/// How the product of compressed rows is spread over the threads of a GPU.
enum class CsrProduct {
  streamed,        ///< a block per run of rows (streamed_rows.cuh)
  cooperative,     ///< groups of threads per row (csr_cooperative.cu)
  shared_columns,  ///< a warp per rows with the same columns (csr_shared_columns.cu)
  automatic        ///< shared columns where enough rows share them, else streamed
};
struct CsrLaunch {
  CsrProduct product = CsrProduct::automatic;
  int coop = 0;    ///< threads per row
  int repeat = 1;  ///< rows that a group of threads takes, one after the other
  int block_size = 128;
  bool narrow = true;  ///< 16-bit columns where they fit (streamed only)
  bool wide = true;    ///< 32-bit columns where the others do not fit, or are not asked for
};

/// The launch that the options ask for. Throws std::invalid_argument where they contradict each other.
CsrLaunch chosen_csr_launch(std::int64_t rows, std::int64_t nonzeros, const Options& given);

/// GPU memory for a matrix in chunks of rows; nothing where the GPU holds the whole matrix. Throws
/// std::invalid_argument where the options contradict each other.
template <std::floating_point T>
std::optional<ChunkBudget> chosen_csr_budget(const Extent<T>& of, const Options& given);

/// The product on the GPU by groups of threads, of a matrix on the host. Values are of T, or of single precision in a
/// loop of double precision.
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                                  const CsrLaunch& launch);

/// The product on the GPU with columns that rows share (shared_columns.hpp).
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_shared_columns_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal);

namespace streamed {

/// A run of rows for one block of threads.
struct Tile {
  std::int64_t first_entry;
  std::int32_t first_row;
  std::int32_t base;  ///< what is added to its columns
};

/// Entries that a thread reads at once, one behind the other.
template <class T>
constexpr int run_length = sizeof(T) == 8 ? 4 : 2;
/// The first entry of the run that holds an entry.
template <class T>
constexpr std::int64_t run_begin(std::int64_t entry) {
  return entry / run_length<T> * run_length<T>;
}
/// Nonzeros of a tile: 8 KiB of products, even where a tile does not begin at a run.
template <class T>
constexpr int tile = 8192 / sizeof(T) - run_length<T>;

/// Runs of rows with at most `tile` nonzeros and at most 1024 rows, and the end of the last; a longer row is a run of
/// its own, and without rows there is an empty one. T is of the products.
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

#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Properties of a matrix that determine the speed of a product, or that conjugate gradients require.
struct MatrixStatistics {
  std::int32_t shortest_row = 0, longest_row = 0;  ///< entries of a row, explicit zeros included
  double mean_row = 0;
  double row_deviation = 0;                             ///< standard deviation of all row lengths (not of a sample)
  std::map<std::int32_t, std::int32_t> rows_of_length;  ///< only lengths that occur

  std::int32_t bandwidth = 0;  ///< max |i - j|

  std::int64_t unmatched_entries = 0;  ///< entries (i, j) without an entry (j, i)
  /// max |a_ij - a_ji| over the greatest entry of rows i and j, where entries that are not stored are 0. 0 for a matrix
  /// symmetric to the last bit.
  double asymmetry = 0;

  std::int32_t absent_diagonals = 0;        ///< rows without an entry (i, i)
  std::int32_t diagonals_not_positive = 0;  ///< stored diagonal entries that are not > 0

  bool symmetric() const { return asymmetry == 0; }
  /// True if the matrix is symmetric up to the rounding of assembly sums.
  bool symmetric_to_rounding() const { return asymmetry <= 1e-12; }
  /// A necessary condition for a positive definite matrix.
  bool positive_diagonal() const { return absent_diagonals == 0 && diagonals_not_positive == 0; }
};

/// Computes the statistics in parallel; the same for any number of threads.
template <std::floating_point T>
MatrixStatistics statistics(const CsrMatrix<T>& matrix);

/// Bytes of x that a product y = A x on a GPU fetches if every block of `block_rows` consecutive rows caches all that
/// it has read, and blocks share nothing: the sum over blocks of the distinct cache lines of x, times `bytes_per_line`
/// (Reguly & Giles 2012, section 5.5). x begins at a cache line and has words of `bytes_per_word`, which divides
/// `bytes_per_line`. Takes offsets [rows + 1] and columns of a square matrix.
std::int64_t cached_input_bytes(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                                std::int32_t rows, std::int32_t block_rows, std::int64_t bytes_per_word,
                                std::int64_t bytes_per_line);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Kind of the entries of a Matrix Market file; a pattern's entries have no value and count as 1.
enum class MatrixField { real, integer, pattern };
/// Entries that a Matrix Market file holds: all; on and below the diagonal, with a_ji = a_ij; below the diagonal, with
/// a_ji = -a_ij.
enum class MatrixSymmetry { general, symmetric, skew_symmetric };

/// As the file's header writes them.
const char* name(MatrixField field);
const char* name(MatrixSymmetry symmetry);

/// Error in a Matrix Market file: what is wrong, and what would be right. what() is "17: sentence", so that a caller
/// puts "file.mtx:" in front, or the sentence alone where no line is at fault.
class MatrixMarketError : public std::runtime_error {
 public:
  MatrixMarketError(std::int64_t line, const std::string& sentence);
  /// Counted from 1; 0 where no line is to blame (there is no such file).
  std::int64_t line() const { return line_; }

 private:
  std::int64_t line_;
};

struct MatrixFile {
  CsrMatrix<double> matrix;  ///< with the entries that symmetry implies
  MatrixField field = MatrixField::real;
  MatrixSymmetry symmetry = MatrixSymmetry::general;
  std::int64_t stored_entries = 0;  ///< written in the file, duplicates and zeros too

  bool pattern() const { return field == MatrixField::pattern; }
};

/// Reads a square real matrix in Matrix Market format (Boisvert, Pozo & Remington 1996), `coordinate` or `array`, of a
/// file or a pipe. Duplicate entries are added up in the order of the file, so that the matrix is the same to the last
/// bit on any number of threads. Zeros that are written stay stored; of an `array`, that is every entry.
///
/// The text is parsed in parallel by blocks; beside the matrix, 16 bytes per entry of the file are held until it is
/// built. Throws MatrixMarketError for the first defect of the file, and where entries or sums of duplicates leave the
/// range in which products can be relied on (number_range.hpp), std::bad_alloc where memory runs out.
MatrixFile read_matrix_market(const std::filesystem::path& file);

/// Writes the lower triangle of a symmetric matrix as `coordinate real symmetric`, row by row. Reading it gives the
/// same values to the last bit.
void write_matrix_market(std::ostream& stream, const CsrMatrix<double>& matrix);

/// Writes vectors of one length as the columns of an `array real general`. The same digits.
void write_matrix_market(std::ostream& stream, std::span<const std::span<const double>> columns);

}  // namespace femcg::operators

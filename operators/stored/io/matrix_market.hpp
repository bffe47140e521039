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
/// Entries in a Matrix Market file: all; on and below the diagonal, with a_ji = a_ij; below the diagonal, with a_ji =
/// -a_ij.
enum class MatrixSymmetry { general, symmetric, skew_symmetric };

/// Names in the file's header.
const char* name(MatrixField field);
const char* name(MatrixSymmetry symmetry);

/// Error in a Matrix Market file: what is wrong, and what would be right. what() is "17: sentence", for a caller to put
/// "file.mtx:" in front, or the sentence alone if the error concerns no line.
class MatrixMarketError : public std::runtime_error {
 public:
  MatrixMarketError(std::int64_t line, const std::string& sentence);
  /// Line number from 1; 0 if the error concerns no line (such as a missing file).
  std::int64_t line() const { return line_; }

 private:
  std::int64_t line_;
};

struct MatrixFile {
  CsrMatrix<double> matrix;  ///< with the entries implied by symmetry
  MatrixField field = MatrixField::real;
  MatrixSymmetry symmetry = MatrixSymmetry::general;
  std::int64_t stored_entries = 0;  ///< in the file, duplicates and zeros included

  bool pattern() const { return field == MatrixField::pattern; }
};

/// Reads a square real matrix in Matrix Market format (Boisvert, Pozo & Remington 1996), `coordinate` or `array`, from
/// a file or a pipe. Duplicate entries are added up in the order of the file, so that the matrix has the same bits for
/// any number of threads. Explicit zeros stay stored; in an `array` all entries do.
///
/// The text is parsed in parallel by blocks; 16 bytes per entry of the file are needed besides the matrix until it is
/// built. Throws MatrixMarketError for the first defect of the file, and if entries or sums of duplicates leave the
/// range in which products are safe (number_range.hpp), std::bad_alloc if memory runs out.
MatrixFile read_matrix_market(const std::filesystem::path& file);

/// Writes the lower triangle of a symmetric matrix as `coordinate real symmetric`, row by row, with enough digits to
/// read back the same values.
void write_matrix_market(std::ostream& stream, const CsrMatrix<double>& matrix);

/// Writes vectors of one length as the columns of an `array real general`, with as many digits.
void write_matrix_market(std::ostream& stream, std::span<const std::span<const double>> columns);

}  // namespace femcg::operators

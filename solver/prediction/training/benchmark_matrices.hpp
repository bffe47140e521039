#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// Distribution of the lengths of a matrix's rows.
enum class RowLengths {
  constant,   ///< all `mean` (Guo & Wang 2012)
  uniform,    ///< from mean (1 - spread) to mean (1 + spread) (Wang, Gu & Li 2017)
  normal,     ///< mean with the deviation mean * spread (Wang, Gu & Li 2017)
  power_law,  ///< Pareto distribution with this mean and the exponent 1 + 1 / spread
  long_rows,  ///< as uniform, plus 16 rows of length `longest`
  blocks      ///< as uniform, equal for 64 neighbouring rows
};

/// A generated matrix, the same on every machine. The entries of row i lie in a window around the diagonal, divided
/// into as many parts of equal width as the row has runs of neighbouring columns, with one run at a random place in
/// each part.
struct MatrixRecipe {
  std::string name;
  std::int32_t rows = 1;
  RowLengths lengths = RowLengths::constant;
  double mean = 1, spread = 0;
  std::int32_t longest = 0;  ///< of long_rows
  double window = 1;         ///< fraction of all columns; longer rows have a wider window
  int run = 1;               ///< number of neighbouring columns
  int alike = 1;             ///< this many neighbouring rows have their runs at the same places of the window
  std::uint64_t seed = 0;
};

/// One-line description, for a list of matrices.
std::string description(const MatrixRecipe& recipe);

/// Generates the matrix with values between 0.5 and 1.5. Throws std::bad_alloc, or std::length_error if it has too many
/// entries.
operators::CsrMatrix<double> generate(const MatrixRecipe& recipe);

/// Benchmark matrix `number` for training: rows of constant, uniform or normal lengths, some with few long rows; from
/// some kilobytes to `most_bytes` in CSR, 2 to 600 entries per row, windows from a few columns to all. The parameters
/// form a low-discrepancy sequence, so that the first matrices cover the whole range and further ones refine it.
MatrixRecipe training_recipe(int number, double most_bytes);

/// Matrices for measuring prediction errors; none is used for training.
std::vector<MatrixRecipe> evaluation_recipes(double most_bytes);

}  // namespace femcg::solver

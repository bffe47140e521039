#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::solver {

/// How the lengths of a matrix's rows are spread.
enum class RowLengths {
  constant,   ///< all `mean` (Guo & Wang 2012)
  uniform,    ///< from mean (1 - spread) to mean (1 + spread) (Wang, Gu & Li 2017)
  normal,     ///< round the mean with the deviation mean * spread (Wang, Gu & Li 2017)
  power_law,  ///< Pareto's with this mean and the exponent 1 + 1 / spread
  long_rows,  ///< as uniform, and 16 rows that are `longest` long
  blocks      ///< as uniform, alike for 64 neighbouring rows
};

/// A matrix that is generated, the same on every machine. Row i has its entries in a window round the diagonal, cut
/// into as many parts of equal width as the row has runs of neighbouring columns, a run at a random place of each part.
struct MatrixRecipe {
  std::string name;
  std::int32_t rows = 1;
  RowLengths lengths = RowLengths::constant;
  double mean = 1, spread = 0;
  std::int32_t longest = 0;  ///< of long_rows
  double window = 1;         ///< of columns, as a part of all; rows that are longer have a wider one
  int run = 1;               ///< neighbouring columns
  int alike = 1;             ///< so many neighbouring rows have their runs at the same places of the window
  std::uint64_t seed = 0;
};

/// In one line, for a list of matrices.
std::string description(const MatrixRecipe& recipe);

/// Values are between 0.5 and 1.5. Throws std::bad_alloc, std::length_error where it has too many entries.
operators::CsrMatrix<double> generate(const MatrixRecipe& recipe);

/// Benchmark matrix `number` of those that a model is trained on: rows whose lengths are constant, uniform and normal,
/// and some with few long ones, from some kilobytes to `most_bytes` of compressed rows, from 2 to 600 entries a row,
/// windows from a few columns to all. The numbers of a matrix fill their ranges evenly (a sequence of low discrepancy),
/// so that the first matrices of the list cover all of it, and more of them cover it more densely.
MatrixRecipe training_recipe(int number, double most_bytes);

/// Matrices to measure predictions on; none is among those trained on.
std::vector<MatrixRecipe> evaluation_recipes(double most_bytes);

}  // namespace femcg::solver

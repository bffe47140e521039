// A Matrix Market file of arbitrary bytes gives a matrix with sorted rows and finite values, or is refused with a
// sentence.
// Seeds: tests/matrices/*.mtx tests/fuzz/seeds/matrix_market/*
#include <cmath>

#include "operators/stored/io/matrix_market.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = tests::text_of(data, size);
  // A size line may request as many rows as fit in memory; here fewer than a million.
  if (text.find_first_of("123456789") != std::string::npos)
    for (std::size_t i = 0, digits = 0; i < text.size() && i < 4096; ++i) {
      digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
      if (digits > 6 && text.find('\n') < i && i < text.find('\n') + 40) return 0;
    }
  try {
    const operators::CsrMatrix<double> matrix = operators::read_matrix_market(tests::file_of(text, ".mtx")).matrix;
    for (std::int32_t row = 0; row < matrix.rows; ++row)
      for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        const std::int32_t column = matrix.columns[k];
        tests::require(column >= 0 && column < matrix.rows, "columns within the matrix");
        tests::require(k == matrix.row_offsets[row] || matrix.columns[k - 1] < column, "sorted columns");
        tests::require(std::isfinite(matrix.values[k]), "finite values");
      }
  } catch (const operators::MatrixMarketError& error) {
    tests::require_sentence(error.what());
  }
  return 0;
}

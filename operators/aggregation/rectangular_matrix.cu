// Transpose and diagonal on a GPU. For the transpose, entries are sorted by column, stably in the order of the rows.

#include "operators/aggregation/diagonal_entry.hpp"
#include "operators/aggregation/grouped.hpp"
#include "operators/aggregation/on_gpu.cuh"

namespace femcg::operators {

namespace {

struct WriteRowNumbers {
  MatrixPointers from;
  std::int32_t* row_of_entry;

  constexpr void operator()(std::int64_t row) const {
    for (std::int64_t k = from.offsets[row]; k < from.offsets[row + 1]; ++k)
      row_of_entry[k] = static_cast<std::int32_t>(row);
  }
};

struct MoveEntry {
  MatrixPointers from;
  const std::int32_t* row_of_entry;
  const std::int64_t* places;
  std::int32_t* column;
  double* value;

  constexpr void operator()(std::int64_t k) const {
    column[k] = row_of_entry[places[k]];
    value[k] = from.value[places[k]];
  }
};

}  // namespace

RectangularMatrix cuda_transposed(const RectangularMatrix& matrix) {
  const OnGpu on;
  const std::int64_t count = matrix.nonzeros();
  Groups by_column = cuda_grouped(matrix.column, matrix.columns);
  RectangularMatrix result{matrix.columns, matrix.rows, std::move(by_column.offsets),
                           Vector<std::int32_t>(count, on.device), Vector<double>(count, on.device)};
  Vector<std::int32_t> row_of_entry(count, on.device);
  on.for_each(matrix.rows, WriteRowNumbers{MatrixPointers(matrix), row_of_entry.data()});
  on.for_each(count, MoveEntry{MatrixPointers(matrix), row_of_entry.data(), by_column.places.data(),
                               result.column.data(), result.value.data()});
  synchronize(on.device);  // before row_of_entry and places are freed
  return result;
}

Vector<double> cuda_diagonal_of(const RectangularMatrix& a) { return diagonal_on(OnGpu(), a); }

}  // namespace femcg::operators

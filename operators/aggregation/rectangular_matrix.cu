// The transpose on a GPU: entries are sorted by their columns, those of a column stay in the order of the rows.

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "operators/aggregation/on_gpu.cuh"

namespace femcg::operators {

namespace {

struct EntriesOfRow {
  MatrixPointers from;
  std::int32_t* row_of_entry;
  std::int64_t* entry;

  constexpr void operator()(std::int64_t row) const {
    for (std::int64_t k = from.offsets[row]; k < from.offsets[row + 1]; ++k) {
      row_of_entry[k] = static_cast<std::int32_t>(row);
      entry[k] = k;
    }
  }
};

struct SortedEntry {
  MatrixPointers from;
  const std::int32_t* row_of_entry;
  const std::int64_t* entry;
  std::int32_t* column;
  double* value;

  constexpr void operator()(std::int64_t k) const {
    column[k] = row_of_entry[entry[k]];
    value[k] = from.value[entry[k]];
  }
};

/// The place of the first of the sorted columns that is not below `row`.
struct FirstOfRow {
  const std::int32_t* columns;
  std::int64_t count;
  std::int64_t* offsets;

  constexpr void operator()(std::int64_t row) const {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (columns[middle] < row)
        low = middle + 1;
      else
        high = middle;
    }
    offsets[row] = low;
  }
};

}  // namespace

RectangularMatrix cuda_transposed(const RectangularMatrix& matrix) {
  const OnGpu on;
  const std::int64_t count = matrix.nonzeros();
  RectangularMatrix result{matrix.columns, matrix.rows,
                           Vector<std::int64_t>(matrix.columns + std::int64_t{1}, on.device),
                           Vector<std::int32_t>(count, on.device), Vector<double>(count, on.device)};
  Vector<std::int32_t> row_of_entry(count, on.device), sorted_columns(count, on.device);
  Vector<std::int64_t> entry(count, on.device), sorted(count, on.device);
  on.for_each(matrix.rows, EntriesOfRow{MatrixPointers(matrix), row_of_entry.data(), entry.data()});
  std::size_t bytes = 0;
  const auto sort = [&](void* room) {
    cuda::check(cub::DeviceRadixSort::SortPairs(room, bytes, matrix.column.data(), sorted_columns.data(), entry.data(),
                                                sorted.data(), count, 0,
                                                std::bit_width(static_cast<unsigned>(matrix.columns)), cuda::stream()),
                "sorting entries by their columns");
  };
  sort(nullptr);
  Vector<char> room(static_cast<std::int64_t>(bytes), on.device);
  sort(room.data());
  on.for_each(matrix.columns + std::int64_t{1}, FirstOfRow{sorted_columns.data(), count, result.row_offsets.data()});
  on.for_each(count, SortedEntry{MatrixPointers(matrix), row_of_entry.data(), sorted.data(), result.column.data(),
                                 result.value.data()});
  synchronize(on.device);  // lists and room go
  return result;
}

}  // namespace femcg::operators

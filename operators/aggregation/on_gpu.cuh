#pragma once

// Loops over rows on a GPU, one thread a row. The functions are those of OnHost, so that algorithms are written once.

#include "operators/aggregation/matrix_pointers.hpp"
#include "operators/backend/cuda/scan.cuh"
#include "operators/backend/launch.cuh"

namespace femcg::operators {

namespace cuda {

/// A row under construction, columns ascending, in memory with room for all of its entries.
struct GpuRow {
  std::int32_t* column;
  double* value;
  std::int64_t size = 0, at = 0;  ///< entries, and position of the last column found

  /// Appends an entry behind all others.
  __device__ void append(std::int32_t j, double number) {
    column[size] = j;
    value[size++] = number;
  }
  __device__ void add(std::int32_t j, double number) { at_column(j) += number; }
  /// Adds a b to the entry, by fma.
  __device__ void add_product(std::int32_t j, double a, double b) {
    double& sum = at_column(j);
    sum = fma(a, b, sum);
  }

 private:
  /// The entry of a column, inserted as 0 if new. Searches from the last column found if columns ascend.
  __device__ double& at_column(std::int32_t j) {
    if (at > 0 && column[at - 1] >= j) at = 0;
    while (at < size && column[at] < j) ++at;
    if (at == size || column[at] != j) {
      for (std::int64_t k = size++; k > at; --k) {
        column[k] = column[k - 1];
        value[k] = value[k - 1];
      }
      column[at] = j;
      value[at] = 0;
    }
    return value[at];
  }
};

template <class Body>
__global__ void __launch_bounds__(128) each_kernel(std::int64_t count, Body body) {
  const std::int64_t i = thread_number();
  if (i < count) body(i);
}
template <class Row>
__global__ void __launch_bounds__(128) most_entries_kernel(std::int64_t rows, Row row, std::int64_t* most) {
  const std::int64_t i = thread_number();
  if (i <= rows) most[i] = i < rows ? row.most(i) : 0;
}
template <class Row>
__global__ void __launch_bounds__(128) make_rows_kernel(std::int64_t rows, Row row, const std::int64_t* begin,
                                                        std::int32_t* column, double* value, std::int64_t* lengths) {
  const std::int64_t i = thread_number();
  if (i > rows) return;
  GpuRow to{column + begin[i], value + begin[i]};
  if (i < rows) row(i, to);
  lengths[i] = to.size;
}
/// Copies the entries of each row to their positions in the matrix. Eight lanes a row.
template <class T>
__global__ void __launch_bounds__(128)
    pack_rows_kernel(std::int64_t rows, const std::int64_t* begin, const T* from, const std::int64_t* offsets, T* to) {
  constexpr int lanes = 8;
  const std::int64_t row = thread_number() / lanes;
  if (row >= rows) return;
  const std::int64_t length = offsets[row + 1] - offsets[row];
  for (std::int64_t k = threadIdx.x % lanes; k < length; k += lanes) to[offsets[row] + k] = from[begin[row] + k];
}

/// Sets flag[i] = test(i) ? 1 : 0.
template <class Test>
struct Flag {
  Test test;
  std::int32_t* flag;

  constexpr void operator()(std::int64_t i) const { flag[i] = test(i) ? 1 : 0; }
};
/// Writes the flagged numbers to a list, by the prefix sum of the flags.
struct ListFlagged {
  const std::int32_t* flags_before;
  std::int32_t* list;

  constexpr void operator()(std::int64_t i) const {
    if (flags_before[i + 1] > flags_before[i]) list[flags_before[i]] = static_cast<std::int32_t>(i);
  }
};

}  // namespace cuda

/// Loops over rows on a GPU.
class OnGpu {
 public:
  static constexpr Device device = Device::cuda;

  template <class Body>
  void for_each(std::int64_t count, const Body& body) const {
    cuda::launch(cuda::each_kernel<Body>, blocks(count), threads, 0, count, body);
  }

  template <class T>
  T sum_before(Vector<T>& numbers) const {
    cuda::sum_before(numbers);
    return cuda::number_at(numbers, numbers.size() - 1);
  }

  /// The numbers i < count with test(i), ascending, on the host.
  template <class Test>
  std::vector<std::int32_t> numbers_with(std::int64_t count, const Test& test) const {
    Vector<std::int32_t> flags = zeros_on_gpu<std::int32_t>(count + 1);
    for_each(count, cuda::Flag<Test>{test, flags.data()});
    Vector<std::int32_t> list(sum_before(flags), device);
    for_each(count, cuda::ListFlagged{flags.data(), list.data()});
    const Vector<std::int32_t> here = copied(list, Device::host);
    return {here.span().begin(), here.span().end()};
  }

  /// The matrix with rows made by row(i, GpuRow&), of at most row.most(i) entries.
  template <class Row>
  RectangularMatrix rows(std::int32_t count, std::int32_t columns, const Row& row) const {
    Vector<std::int64_t> begin(count + std::int64_t{1}, device);
    cuda::launch(cuda::most_entries_kernel<Row>, blocks(begin.size()), threads, 0, count, row, begin.data());
    const std::int64_t most = sum_before(begin);
    Vector<std::int32_t> column(most, device);
    Vector<double> value(most, device);
    RectangularMatrix made{count, columns, Vector<std::int64_t>(count + std::int64_t{1}, device), {}, {}};
    cuda::launch(cuda::make_rows_kernel<Row>, blocks(begin.size()), threads, 0, count, row, begin.data(), column.data(),
                 value.data(), made.row_offsets.data());
    const std::int64_t entries = sum_before(made.row_offsets);
    made.column = Vector<std::int32_t>(entries, device);
    made.value = Vector<double>(entries, device);
    pack(made, begin, column, made.column);
    pack(made, begin, value, made.value);
    synchronize(device);  // before begin, column, value are freed
    return made;
  }

 private:
  static constexpr int threads = 128;
  static std::int64_t blocks(std::int64_t count) { return cuda::blocks_of(count, threads); }

  template <class T>
  static void pack(const RectangularMatrix& made, const Vector<std::int64_t>& begin, const Vector<T>& from,
                   Vector<T>& to) {
    cuda::launch(cuda::pack_rows_kernel<T>, blocks(std::int64_t{8} * made.rows), threads, 0, made.rows, begin.data(),
                 from.data(), made.row_offsets.data(), to.data());
  }
};

}  // namespace femcg::operators

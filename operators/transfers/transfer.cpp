#include "operators/transfers/transfer.hpp"

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// Rows of a matrix with values of type T.
template <std::floating_point T>
struct Rows {
  explicit Rows(const RectangularMatrix& of)
      : count(of.rows),
        offsets(copied(of.row_offsets, Device::host)),
        columns(copied(of.column, Device::host)),
        values(of.value.size()) {
    copy(of.value, values);
  }
  std::int64_t bytes() const { return offsets.bytes() + columns.bytes() + values.bytes(); }
  /// Calls work(i, sum_k value_k entry(c of column_k)) for each value i = c of a row; rows have `stride` values.
  template <class Entry, class Work>
  void multiply(int stride, const Entry& entry, const Work& work) const {
    with_any_stride(stride, [&]<int w>() {
      for_each_row(count, [&](std::int64_t row) {
        T sums[w] = {};
        for (std::int64_t k = offsets[row]; k < offsets[row + 1]; ++k)
          for (int c = 0; c < w; ++c) sums[c] += values[k] * entry(std::int64_t{columns[k]} * w + c);
        for (int c = 0; c < w; ++c) work(row * w + c, sums[c]);
      });
    });
  }

  std::int32_t count;
  Vector<std::int64_t> offsets;
  Vector<std::int32_t> columns;
  Vector<T> values;
};

template <std::floating_point T>
class HostMatrixTransfer final : public Transfer<T> {
 public:
  explicit HostMatrixTransfer(const RectangularMatrix& prolongation)
      : prolongation_(prolongation), restriction_(transposed(prolongation)) {}

  void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const override {
    prolongation_.multiply(
        stride, [&](std::int64_t j) { return coarse[j]; }, [&](std::int64_t i, T sum) { fine[i] += sum; });
  }
  void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const override {
    restriction_.multiply(
        stride, [&](std::int64_t i) { return r[i] - q[i]; }, [&](std::int64_t j, T sum) { coarse[j] = sum; });
  }
  std::int64_t stored_bytes() const override { return prolongation_.bytes() + restriction_.bytes(); }

 private:
  Rows<T> prolongation_, restriction_;
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_matrix_transfer(const RectangularMatrix& prolongation, Device device) {
  if (device == Device::cuda) return make_cuda_matrix_transfer<T>(prolongation);
  return std::make_unique<HostMatrixTransfer<T>>(prolongation);
}

template std::unique_ptr<Transfer<double>> make_matrix_transfer(const RectangularMatrix&, Device);
template std::unique_ptr<Transfer<float>> make_matrix_transfer(const RectangularMatrix&, Device);

}  // namespace femcg::operators

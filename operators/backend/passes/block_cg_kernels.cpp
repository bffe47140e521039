// Vector kernels of block CG on the host. Words read and written per unknown and column: product 2, update 3, advance 6
// (7 with z), and the diagonal once for all columns.

#include "operators/backend/passes/block_cg_kernels.hpp"

#include <algorithm>
#include <array>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// A small matrix in the precision of the vectors.
template <int stride, class T>
struct Dense {
  T of[stride][stride] = {};
  Dense() = default;
  explicit Dense(const SmallMatrix& from) {
    for (int i = 0; i < stride; ++i)
      for (int j = 0; j < stride; ++j) of[i][j] = static_cast<T>(from(i, j));
  }
};

template <int stride>
using Sum = Dense<stride, double>;

template <int stride>
Sum<stride>& operator+=(Sum<stride>& to, const Sum<stride>& from) {
  for (int i = 0; i < stride; ++i)
    for (int j = 0; j < stride; ++j) to.of[i][j] += from.of[i][j];
  return to;
}

template <int stride>
struct TwoSums {
  Sum<stride> plain, preconditioned;
  TwoSums& operator+=(const TwoSums& other) {
    plain += other.plain;
    preconditioned += other.preconditioned;
    return *this;
  }
};

template <int stride>
SmallMatrix small(const Sum<stride>& from) {
  SmallMatrix to(stride);
  std::copy_n(&from.of[0][0], stride * stride, to.data());
  return to;
}

/// sum += factor a b', for rows a and b.
template <int stride, class T>
inline void add_outer_product(double factor, const T* a, const T* b, Sum<stride>& sum) {
  for (int i = 0; i < stride; ++i) {
    const double of_a = factor * static_cast<double>(a[i]);
#pragma omp simd
    for (int j = 0; j < stride; ++j) sum.of[i][j] += of_a * static_cast<double>(b[j]);
  }
}

/// to += a' M, for a row a.
template <int stride, class T>
inline void add_row(const T* a, const Dense<stride, T>& m, T* to) {
  for (int i = 0; i < stride; ++i) {
    const T of_a = a[i];
#pragma omp simd
    for (int j = 0; j < stride; ++j) to[j] += of_a * m.of[i][j];
  }
}

template <int stride, class T>
Sum<stride> product_of_rows(const T* a, const T* b, std::int64_t first, std::int64_t last) {
  Sum<stride> sum;
  for (std::int64_t row = first; row < last; ++row) add_outer_product(1.0, a + row * stride, b + row * stride, sum);
  return sum;
}

template <int stride, class T>
TwoSums<stride> update_rows(const T* q, const Dense<stride, T>& minus_step, const float* inverse_diagonal, T* w,
                            std::int64_t first, std::int64_t last) {
  TwoSums<stride> sums;
  for (std::int64_t row = first; row < last; ++row) {
    T* of_row = w + row * stride;
    add_row(q + row * stride, minus_step, of_row);
    add_outer_product(1.0, of_row, of_row, sums.plain);
    if (inverse_diagonal != nullptr)
      add_outer_product(static_cast<double>(inverse_diagonal[row]), of_row, of_row, sums.preconditioned);
  }
  if (inverse_diagonal == nullptr) sums.preconditioned = sums.plain;
  return sums;
}

template <int stride, class T>
struct Step {
  Dense<stride, T> correction, normaliser, direction;
  explicit Step(const BlockStep& from)
      : correction(from.correction), normaliser(from.normaliser), direction(from.direction) {}
};

template <int stride, class T>
void advance_rows(const Step<stride, T>& step, const float* inverse_diagonal, const T* z, T* w, T* s, T* x,
                  std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row < last; ++row) {
    T *of_w = w + row * stride, *of_s = s + row * stride;
    std::array<T, stride> new_w{}, new_s{};
    add_row(of_s, step.correction, x + row * stride);
    add_row(of_w, step.normaliser, new_w.data());
    if (z != nullptr) {
      add_row(z + row * stride, step.normaliser, new_s.data());
    } else {
      const T solve = inverse_diagonal != nullptr ? inverse_diagonal[row] : T(1);
      for (int j = 0; j < stride; ++j) new_s[j] = solve * new_w[j];
    }
    add_row(of_s, step.direction, new_s.data());
    std::ranges::copy(new_w, of_w);
    std::ranges::copy(new_s, of_s);
  }
}

template <std::floating_point T>
class HostBlockCgKernels final : public BlockCgKernels<T> {
 public:
  SmallMatrix product(const MultiVector<T>& a, const MultiVector<T>& b) override {
    return with_any_stride(a.stride(), [&]<int stride>() {
      return small(sum_over_row_blocks(a.rows(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return product_of_rows<stride>(a.data(), b.data(), first, last);
      }));
    });
  }
  BlockNorms update(const MultiVector<T>& q, const SmallMatrix& step, const InverseDiagonal* inverse_diagonal,
                    MultiVector<T>& w) override {
    return with_any_stride(w.stride(), [&]<int stride>() {
      Dense<stride, T> minus_step(step);
      for (auto& row : minus_step.of)
        for (T& entry : row) entry = -entry;
      const auto sums = sum_over_row_blocks(w.rows(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return update_rows(q.data(), minus_step, data_of(inverse_diagonal), w.data(), first, last);
      });
      return BlockNorms{small(sums.plain), small(sums.preconditioned)};
    });
  }
  void advance(const BlockStep& step, const InverseDiagonal* inverse_diagonal, const MultiVector<T>* z,
               MultiVector<T>& w, MultiVector<T>& s, MultiVector<T>& x) override {
    with_any_stride(w.stride(), [&]<int stride>() {
      const Step<stride, T> of(step);
      for_row_blocks(w.rows(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        advance_rows(of, data_of(inverse_diagonal), z != nullptr ? z->data() : nullptr, w.data(), s.data(), x.data(),
                     first, last);
      });
    });
  }
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<BlockCgKernels<T>> make_block_cg_kernels(Device device) {
  if (device == Device::cuda) return make_cuda_block_cg_kernels<T>();
  return std::make_unique<HostBlockCgKernels<T>>();
}

template std::unique_ptr<BlockCgKernels<double>> make_block_cg_kernels(Device);
template std::unique_ptr<BlockCgKernels<float>> make_block_cg_kernels(Device);

}  // namespace femcg::operators

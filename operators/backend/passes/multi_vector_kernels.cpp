// Vector kernels of CG on several systems, on the host. Words read and written per unknown and column: start 2, update
// 3, direction 5, delay_update 3, catch_up 6, dot 2, and the diagonal once for all columns.

#include "operators/backend/passes/multi_vector_kernels.hpp"

#include <array>

#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// A value for each column.
template <int stride>
using OfColumns = std::array<double, stride>;

/// `sums` values for each column.
template <int stride, int sums>
struct Sums {
  std::array<OfColumns<stride>, sums> of{};
  Sums& operator+=(const Sums& other) {
    for (int n = 0; n < sums; ++n)
      for (int c = 0; c < stride; ++c) of[n][c] += other.of[n][c];
    return *this;
  }
};

/// Entries per step of the loops below, one row or several: values of columns are repeated in arrays of this size, so
/// that few columns too get SIMD loops.
template <int stride>
inline constexpr int wide = std::max(stride, 8);

template <int stride, std::floating_point T>
std::array<T, wide<stride>> repeated(const OfColumns<stride>& numbers) {
  std::array<T, wide<stride>> to;
  for (int j = 0; j < wide<stride>; ++j) to[j] = static_cast<T>(numbers[j % stride]);
  return to;
}
/// Sums per column of arrays with repeated columns.
template <int stride, class... Numbers>
Sums<stride, sizeof...(Numbers)> folded(const Numbers&... numbers) {
  Sums<stride, sizeof...(Numbers)> sums;
  int n = 0;
  const auto add = [&](const std::array<double, wide<stride>>& from) {
    for (int j = 0; j < wide<stride>; ++j) sums.of[n][j % stride] += from[j];
    ++n;
  };
  (add(numbers), ...);
  return sums;
}

/// Calls entry(e, j) for the entries e + j of the rows [first, last), `wide` of them per SIMD loop.
template <int stride, class Entry>
inline void for_entries(std::int64_t first, std::int64_t last, const Entry& entry) {
  constexpr int W = wide<stride>;
  std::int64_t e = first * stride;
  for (; e + W <= last * stride; e += W)
#pragma omp simd
    for (int j = 0; j < W; ++j) entry(e, j);
  for (int j = 0; e + j < last * stride; ++j) entry(e, j);
}

/// Entry e of M^-1 r; its row is e / stride.
template <int stride, std::floating_point T>
inline T solve(const float* inverse_diagonal, std::int64_t e, T r) {
  return inverse_diagonal == nullptr ? r : inverse_diagonal[e / stride] * r;
}

template <int stride, std::floating_point T>
Sums<stride, 2> start_rows(const T* r, const float* inverse_diagonal, T* p, std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  std::array<double, W> rz{}, rr{};
  const auto entry = [&](std::int64_t e, int j) {
    p[e + j] = solve<stride>(inverse_diagonal, e + j, r[e + j]);
    rz[j] += static_cast<double>(r[e + j]) * static_cast<double>(p[e + j]);
    rr[j] += static_cast<double>(r[e + j]) * static_cast<double>(r[e + j]);
  };
  for_entries<stride>(first, last, entry);
  return folded<stride>(rz, rr);
}

template <int stride, std::floating_point T>
Sums<stride, 2> update_rows(const OfColumns<stride>& alphas, const T* q, const float* inverse_diagonal, T* r,
                            std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  const std::array<T, W> alpha = repeated<stride, T>(alphas);
  std::array<double, W> rz{}, rr{};
  const auto entry = [&](std::int64_t e, int j) {
    const T residual = r[e + j] - alpha[j] * q[e + j];
    r[e + j] = residual;
    rz[j] += static_cast<double>(residual) * static_cast<double>(solve<stride>(inverse_diagonal, e + j, residual));
    rr[j] += static_cast<double>(residual) * static_cast<double>(residual);
  };
  for_entries<stride>(first, last, entry);
  return folded<stride>(rz, rr);
}

template <int stride, std::floating_point T>
void direction_rows(const OfColumns<stride>& alphas, const OfColumns<stride>& betas, const T* r,
                    const float* inverse_diagonal, T* p, T* x, std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  const std::array<T, W> alpha = repeated<stride, T>(alphas), beta = repeated<stride, T>(betas);
  const auto entry = [&](std::int64_t e, int j) {
    x[e + j] += alpha[j] * p[e + j];
    p[e + j] = solve<stride>(inverse_diagonal, e + j, r[e + j]) + beta[j] * p[e + j];
  };
  for_entries<stride>(first, last, entry);
}

template <int stride, std::floating_point T>
void delay_update_rows(const OfColumns<stride>& betas, const T* r, const float* inverse_diagonal, const T* p, T* second,
                       std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  const std::array<T, W> beta = repeated<stride, T>(betas);
  const auto entry = [&](std::int64_t e, int j) {
    second[e + j] = solve<stride>(inverse_diagonal, e + j, r[e + j]) + beta[j] * p[e + j];
  };
  for_entries<stride>(first, last, entry);
}

template <int stride, std::floating_point T>
void catch_up_rows(const OfColumns<stride>& alphas_before, const OfColumns<stride>& alphas,
                   const OfColumns<stride>& betas, const T* r, const float* inverse_diagonal, const T* second, T* p,
                   T* x, std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  const std::array<T, W> before = repeated<stride, T>(alphas_before), alpha = repeated<stride, T>(alphas),
                         beta = repeated<stride, T>(betas);
  const auto entry = [&](std::int64_t e, int j) {
    x[e + j] += before[j] * p[e + j] + alpha[j] * second[e + j];
    p[e + j] = solve<stride>(inverse_diagonal, e + j, r[e + j]) + beta[j] * second[e + j];
  };
  for_entries<stride>(first, last, entry);
}

template <int stride, std::floating_point T>
Sums<stride, 1> dot_of_columns(const T* a, const T* b, std::int64_t first, std::int64_t last) {
  constexpr int W = wide<stride>;
  std::array<double, W> products{};
  const auto entry = [&](std::int64_t e, int j) {
    products[j] += static_cast<double>(a[e + j]) * static_cast<double>(b[e + j]);
  };
  for_entries<stride>(first, last, entry);
  return folded<stride>(products);
}

/// a / b, column by column; 0 for a frozen column.
template <int stride>
OfColumns<stride> lengths_of(const MultiScalar& a, const MultiScalar& b, const MultiScalar& running) {
  OfColumns<stride> lengths;
  for (int c = 0; c < stride; ++c) lengths[c] = running.data()[c] != 0 ? step_length(a.data()[c], b.data()[c]) : 0.0;
  return lengths;
}

template <std::floating_point T>
class HostMultiVectorKernels final : public MultiVectorKernels<T>, public DelayedUpdate<MultiVector<T>> {
 public:
  void start(const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal, MultiVector<T>& p,
             CgMultiScalars& first) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      const auto sums = sum_over_row_blocks(r.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        return start_rows<stride>(r.data(), data_of(inverse_diagonal), p.data(), from, to);
      });
      std::copy_n(sums.of[0].data(), stride, first.rz.data());
      std::copy_n(sums.of[1].data(), stride, first.rr.data());
    });
  }
  void update(const CgMultiScalars& now, const MultiVector<T>& q, const InverseDiagonal* inverse_diagonal,
              MultiVector<T>& r, CgMultiScalars& next) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      const auto alphas = lengths_of<stride>(now.rz, now.energy, now.running);
      const auto sums = sum_over_row_blocks(r.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        return update_rows<stride>(alphas, q.data(), data_of(inverse_diagonal), r.data(), from, to);
      });
      std::copy_n(sums.of[0].data(), stride, next.rz.data());
      std::copy_n(sums.of[1].data(), stride, next.rr.data());
    });
  }
  void direction(const CgMultiScalars& now, const CgMultiScalars& next, const MultiVector<T>& r,
                 const InverseDiagonal* inverse_diagonal, MultiVector<T>& p, MultiVector<T>& x) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      const auto alphas = lengths_of<stride>(now.rz, now.energy, now.running);
      const auto betas = lengths_of<stride>(next.rz, now.rz, now.running);
      for_row_blocks(r.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        direction_rows<stride>(alphas, betas, r.data(), data_of(inverse_diagonal), p.data(), x.data(), from, to);
      });
    });
  }
  const DelayedUpdate<MultiVector<T>>* delayed_update() const override { return this; }
  void delay_update(const CgMultiScalars& now, const CgMultiScalars& next, const MultiVector<T>& r,
                    const InverseDiagonal* inverse_diagonal, const MultiVector<T>& p,
                    MultiVector<T>& second) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      const auto betas = lengths_of<stride>(next.rz, now.rz, now.running);
      for_row_blocks(r.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        delay_update_rows<stride>(betas, r.data(), data_of(inverse_diagonal), p.data(), second.data(), from, to);
      });
    });
  }
  void catch_up(const CgMultiScalars& before, const CgMultiScalars& now, const CgMultiScalars& next,
                const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal, const MultiVector<T>& second,
                MultiVector<T>& p, MultiVector<T>& x) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      const auto alphas_before = lengths_of<stride>(before.rz, before.energy, now.running),
                 alphas = lengths_of<stride>(now.rz, now.energy, now.running),
                 betas = lengths_of<stride>(next.rz, now.rz, now.running);
      for_row_blocks(r.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        catch_up_rows<stride>(alphas_before, alphas, betas, r.data(), data_of(inverse_diagonal), second.data(),
                              p.data(), x.data(), from, to);
      });
    });
  }
  void dot(const MultiVector<T>& a, const MultiVector<T>& b, MultiScalar& result) const override {
    with_any_stride(a.stride(), [&]<int stride>() {
      const auto sums = sum_over_row_blocks(a.rows(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        return dot_of_columns<stride>(a.data(), b.data(), from, to);
      });
      std::copy_n(sums.of[0].data(), stride, result.data());
    });
  }
};

/// Calls entry(row, e) for all entries e, in parallel.
template <class T, class Entry>
void for_rows(const MultiVector<T>& of, const Entry& entry) {
  const int stride = of.stride();
  for_row_blocks(of.rows(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      for (int c = 0; c < stride; ++c) entry(row, row * stride + c);
  });
}

}  // namespace

template <std::floating_point T>
const MultiVectorKernels<T>& multi_vector_kernels(Device device) {
  static const HostMultiVectorKernels<T> on_host;
  return device == Device::host ? on_host : cuda_multi_vector_kernels<T>();
}

template <std::floating_point T>
void chebyshev_first(double b, const MultiVector<T>& r, const InverseDiagonal& inverse_diagonal, MultiVector<T>& d,
                     MultiVector<T>& z) {
  if (r.device() == Device::cuda) return cuda_chebyshev_first(b, r, inverse_diagonal, d, z);
  for_rows(r, [&, factor = static_cast<T>(b)](std::int64_t row, std::int64_t e) {
    d.data()[e] = factor * inverse_diagonal[row] * r.data()[e];
    z.data()[e] = d.data()[e];
  });
}

template <std::floating_point T>
void chebyshev_next(double a, double b, const MultiVector<T>& r, const MultiVector<T>& q,
                    const InverseDiagonal& inverse_diagonal, MultiVector<T>& d, MultiVector<T>& z) {
  if (r.device() == Device::cuda) return cuda_chebyshev_next(a, b, r, q, inverse_diagonal, d, z);
  for_rows(r, [&, old = static_cast<T>(a), factor = static_cast<T>(b)](std::int64_t row, std::int64_t e) {
    d.data()[e] = old * d.data()[e] + factor * inverse_diagonal[row] * (r.data()[e] - q.data()[e]);
    z.data()[e] += d.data()[e];
  });
}

template const MultiVectorKernels<double>& multi_vector_kernels(Device);
template const MultiVectorKernels<float>& multi_vector_kernels(Device);
template void chebyshev_first(double, const MultiVector<double>&, const InverseDiagonal&, MultiVector<double>&,
                              MultiVector<double>&);
template void chebyshev_next(double, double, const MultiVector<double>&, const MultiVector<double>&,
                             const InverseDiagonal&, MultiVector<double>&, MultiVector<double>&);
template void chebyshev_first(double, const MultiVector<float>&, const InverseDiagonal&, MultiVector<float>&,
                              MultiVector<float>&);
template void chebyshev_next(double, double, const MultiVector<float>&, const MultiVector<float>&,
                             const InverseDiagonal&, MultiVector<float>&, MultiVector<float>&);

}  // namespace femcg::operators

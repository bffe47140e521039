// Words read and written per unknown: p, r and v twice, x twice in every second iteration: 7, and M^-1 once, whereas
// separate vector kernels have 9.5 besides the two of a product, and M^-1 twice.

#include "operators/cellwise/cell_loops/fused_cg.hpp"

#include <algorithm>

#include "operators/backend/passes/diagonal_solve.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T, class Preconditioner>
void before_rows(const FusedStep<T>& of, Preconditioner solve, std::int64_t first, std::int64_t last) {
  const T along = of.along, back = of.back, step = of.step, keep = of.keep, beta = of.beta;
  const T* v = of.v;
  T *x = of.x, *r = of.r, *p = of.p;
  if (of.moves_x()) {
#pragma omp simd
    for (std::int64_t i = first; i < last; ++i) {
      x[i] += along * p[i] + back * solve(i, r[i]);
      r[i] -= step * v[i];
      p[i] = keep * solve(i, r[i]) + beta * p[i];
    }
  } else {
#pragma omp simd
    for (std::int64_t i = first; i < last; ++i) {
      r[i] -= step * v[i];
      p[i] = keep * solve(i, r[i]) + beta * p[i];
    }
  }
}

template <std::floating_point T>
void before(const FusedStep<T>& of, std::int64_t first, std::int64_t last) {
  with_preconditioner(of.inverse_diagonal, [&](auto solve) { before_rows(of, solve, first, last); });
}

template <std::floating_point T>
void add_sums(Identity, const T* p, const T* r, const T* v, std::int64_t rows, double* sums) {
  double pv = 0, rr = 0, rv = 0, vv = 0;
#pragma omp simd reduction(+ : pv, rr, rv, vv)
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto of_p = static_cast<double>(p[i]), of_r = static_cast<double>(r[i]), of_v = static_cast<double>(v[i]);
    pv += of_p * of_v;
    rr += of_r * of_r;
    rv += of_r * of_v;
    vv += of_v * of_v;
  }
  const double all[FusedSums::count] = {pv, rr, rr, rv, rv, vv, vv};
  for (int s = 0; s < FusedSums::count; ++s) sums[s] += all[s];
}
template <std::floating_point T>
void add_sums(Diagonal solve, const T* p, const T* r, const T* v, std::int64_t rows, double* sums) {
  double pv = 0, rz = 0, rr = 0, zv = 0, rv = 0, vz = 0, vv = 0;
#pragma omp simd reduction(+ : pv, rz, rr, zv, rv, vz, vv)
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto of_p = static_cast<double>(p[i]), of_r = static_cast<double>(r[i]), of_v = static_cast<double>(v[i]);
    const auto z = static_cast<double>(solve(i, r[i])), y = static_cast<double>(solve(i, v[i]));
    pv += of_p * of_v;
    rz += of_r * z;
    rr += of_r * of_r;
    zv += z * of_v;
    rv += of_r * of_v;
    vz += y * of_v;
    vv += of_v * of_v;
  }
  const double all[FusedSums::count] = {pv, rz, rr, zv, rv, vz, vv};
  for (int s = 0; s < FusedSums::count; ++s) sums[s] += all[s];
}

}  // namespace

template <std::floating_point T>
void merged_passes(const FusedStep<T>& of, std::int64_t rows) {
  for_row_blocks(rows, EqualRows{}, [&](std::int64_t first, std::int64_t last) { before(of, first, last); });
}

template <std::floating_point T>
void FusedVectors<T>::begin(std::span<const std::int32_t> rows) const {
  for_row_blocks(static_cast<std::int64_t>(rows.size()), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {  // ranges of consecutive rows, private and owned ones of a patch
      std::int64_t next = first + 1;
      while (next < last && rows[next] == rows[next - 1] + 1) ++next;
      before(of, rows[first], rows[next - 1] + std::int64_t{1});
      first = next;
    }
  });
}

template <std::floating_point T>
void FusedVectors<T>::load(int, std::int64_t first, std::int64_t rows, T* to) const {
  before(of, first, first + rows);
  std::copy_n(of.p + first, rows, to);
}

template <std::floating_point T>
void FusedVectors<T>::store(int, std::int64_t first, std::int64_t rows, const T* p, const T* made,
                            double* sums_of_rows) const {
  std::copy_n(made, rows, of.v + first);
  with_preconditioner(of.inverse_diagonal != nullptr ? of.inverse_diagonal + first : nullptr,
                      [&](auto solve) { add_sums(solve, p, of.r + first, made, rows, sums_of_rows); });
}

template <std::floating_point T>
void FusedVectors<T>::put(int, std::span<const std::int32_t> rows, const T* made, double* sums_of_rows) const {
  T p[rows_per_block], r[rows_per_block];
  float inverse[rows_per_block];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    of.v[rows[i]] = made[i];
    p[i] = of.p[rows[i]];
    r[i] = of.r[rows[i]];
  }
  const auto number = static_cast<std::int64_t>(rows.size());
  if (of.inverse_diagonal == nullptr) return add_sums(Identity(), p, r, made, number, sums_of_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) inverse[i] = of.inverse_diagonal[rows[i]];
  add_sums(Diagonal{inverse}, p, r, made, number, sums_of_rows);
}

template void merged_passes(const FusedStep<double>&, std::int64_t);
template void merged_passes(const FusedStep<float>&, std::int64_t);
template struct FusedVectors<double>;
template struct FusedVectors<float>;

}  // namespace femcg::operators

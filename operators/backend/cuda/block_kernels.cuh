#pragma once

// Vector kernels of block CG as one thread block runs them, over tiles of rows: one thread per entry of a tile; the
// tile is in shared memory, since products with small matrices need a whole row. Each block writes its partial sums to
// memory; a second kernel adds them up in the order of the blocks.

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

constexpr int block_cg_threads = 256;

/// A matrix [stride][stride], passed to kernels by value.
template <class T, int stride>
struct DenseMatrix {
  T of[stride][stride];
};

/// Rows of a tile in shared memory, padded by one value a row against bank conflicts.
template <class T, int stride>
struct RowTile {
  static constexpr int rows = block_cg_threads / stride;
  T of[rows][stride + 1];
};

/// Calls body(row, r, c, is_row) in all threads for every tile of this block: the thread's entry is row r and column c
/// of the tile, and row `row` of the vectors if is_row. `body` may use barriers of the block.
template <int stride, class Body>
__device__ void for_tiles(std::int64_t row_count, const Body& body) {
  constexpr int rows = block_cg_threads / stride;
  const int r = static_cast<int>(threadIdx.x) / stride, c = static_cast<int>(threadIdx.x) % stride;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows; first < row_count; first += std::int64_t{gridDim.x} * rows)
    body(first + r, r, c, first + r < row_count);
}

/// A thread's part of the sum A'B over the rows of a block, [stride][stride]: several entries, or a partial sum of one.
template <int stride>
class OuterProducts {
 public:
  static constexpr int numbers = stride * stride;
  static constexpr int of_thread = numbers > block_cg_threads ? numbers / block_cg_threads : 1;
  static constexpr int parts = numbers > block_cg_threads ? 1 : block_cg_threads / numbers;  ///< partial sums

  /// Adds A'B of a tile, each row weighted by factor(row).
  template <class T, class Factor>
  __device__ void add(const RowTile<T, stride>& a, const RowTile<T, stride>& b, const Factor& factor) {
    const int j = number() % stride;
#pragma unroll
    for (int r = part(); r < RowTile<T, stride>::rows; r += parts) {
      const double of_b = factor(r) * static_cast<double>(b.of[r][j]);
#pragma unroll
      for (int n = 0; n < of_thread; ++n) sums_[n] += static_cast<double>(a.of[r][row(n)]) * of_b;
    }
  }
  /// Writes the block's sums to `to`; `scratch` has a value for every thread.
  __device__ void leave(double* scratch, double* to) const {
    if constexpr (parts == 1) {
#pragma unroll
      for (int n = 0; n < of_thread; ++n) to[row(n) * stride + number() % stride] = sums_[n];
    } else {
      __syncthreads();
      scratch[threadIdx.x] = sums_[0];
      __syncthreads();
      if (part() > 0) return;
      double sum = 0;
      for (int p = 0; p < parts; ++p) sum += scratch[p * numbers + number()];
      to[number()] = sum;
    }
  }

 private:
  __device__ static int number() {
    return static_cast<int>(threadIdx.x) % (of_thread > 1 ? block_cg_threads : numbers);
  }
  __device__ static int part() { return of_thread > 1 ? 0 : static_cast<int>(threadIdx.x) / numbers; }
  /// The row of the thread's n-th entry.
  __device__ static int row(int n) { return number() / stride + n * (block_cg_threads / stride); }

  double sums_[of_thread] = {};
};

template <class T, int stride>
__device__ void load_matrix(const DenseMatrix<T, stride>& from, DenseMatrix<T, stride>& to) {
  for (int n = static_cast<int>(threadIdx.x); n < stride * stride; n += block_cg_threads)
    to.of[n / stride][n % stride] = from.of[n / stride][n % stride];
}

/// Entry c of a row times a matrix.
template <class T, int stride>
__device__ T times(const T (&row)[stride + 1], const DenseMatrix<T, stride>& m, int c) {
  T sum = 0;
#pragma unroll
  for (int i = 0; i < stride; ++i) sum += row[i] * m.of[i][c];
  return sum;
}

/// Computes parts[block] = A'B over the block's rows.
template <class T, int stride>
__device__ void product_of_block(std::int64_t rows, const T* a, const T* b, double* parts) {
  __shared__ RowTile<T, stride> of_a, of_b;
  __shared__ double scratch[block_cg_threads];
  OuterProducts<stride> sums;
  for_tiles<stride>(rows, [&](std::int64_t row, int r, int c, bool is_row) {
    of_a.of[r][c] = is_row ? __ldg(a + row * stride + c) : T(0);
    of_b.of[r][c] = is_row ? __ldg(b + row * stride + c) : T(0);
    __syncthreads();
    sums.add(of_a, of_b, [](int) { return 1.0; });
    __syncthreads();
  });
  sums.leave(scratch, parts + std::int64_t{blockIdx.x} * (stride * stride));
}

/// Computes W -= Q step; parts[block] = W'W over the block's rows, followed by W'M^-1 W if M is not I.
template <class T, int stride, bool with_diagonal>
__device__ void update_of_block(std::int64_t rows, const T* q, const DenseMatrix<T, stride>& step,
                                const float* inverse_diagonal, T* w, double* parts) {
  __shared__ DenseMatrix<T, stride> of_step;
  __shared__ RowTile<T, stride> of_q, of_w;
  __shared__ T solve[RowTile<T, stride>::rows];
  __shared__ double scratch[block_cg_threads];
  load_matrix(step, of_step);
  OuterProducts<stride> plain, preconditioned;
  for_tiles<stride>(rows, [&](std::int64_t row, int r, int c, bool is_row) {
    const std::int64_t entry = row * stride + c;
    of_q.of[r][c] = is_row ? __ldg(q + entry) : T(0);
    const T old = is_row ? w[entry] : T(0);
    if (with_diagonal && c == 0) solve[r] = is_row ? __ldg(inverse_diagonal + row) : T(0);
    __syncthreads();
    const T now = old - times(of_q.of[r], of_step, c);
    of_w.of[r][c] = now;
    if (is_row) w[entry] = now;
    __syncthreads();
    plain.add(of_w, of_w, [](int) { return 1.0; });
    if (with_diagonal) preconditioned.add(of_w, of_w, [&](int of) { return static_cast<double>(solve[of]); });
    __syncthreads();
  });
  constexpr int numbers = stride * stride;
  double* mine = parts + std::int64_t{blockIdx.x} * (with_diagonal ? 2 * numbers : numbers);
  plain.leave(scratch, mine);
  if (with_diagonal) preconditioned.leave(scratch, mine + numbers);
}

/// BlockStep in the precision of the vectors.
template <class T, int stride>
struct DenseStep {
  DenseMatrix<T, stride> correction, normaliser, direction;
};

/// X += S correction; W = W normaliser; S = M^-1 W + S direction. If z is not null, Z normaliser stands for M^-1 W.
template <class T, int stride>
__device__ void advance_block(std::int64_t rows, const DenseStep<T, stride>& step, const float* inverse_diagonal,
                              const T* z, T* w, T* s, T* x) {
  __shared__ DenseStep<T, stride> of_step;
  __shared__ RowTile<T, stride> of_w, of_s, of_z;
  load_matrix(step.correction, of_step.correction);
  load_matrix(step.normaliser, of_step.normaliser);
  load_matrix(step.direction, of_step.direction);
  for_tiles<stride>(rows, [&](std::int64_t row, int r, int c, bool is_row) {
    const std::int64_t entry = row * stride + c;
    of_w.of[r][c] = is_row ? w[entry] : T(0);
    of_s.of[r][c] = is_row ? s[entry] : T(0);
    if (z != nullptr) of_z.of[r][c] = is_row ? __ldg(z + entry) : T(0);
    __syncthreads();
    if (is_row) {
      const T new_w = times(of_w.of[r], of_step.normaliser, c);
      const T solved = z != nullptr                  ? times(of_z.of[r], of_step.normaliser, c)
                       : inverse_diagonal != nullptr ? __ldg(inverse_diagonal + row) * new_w
                                                     : new_w;
      x[entry] += times(of_s.of[r], of_step.correction, c);
      w[entry] = new_w;
      s[entry] = solved + times(of_s.of[r], of_step.direction, c);
    }
    __syncthreads();
  });
}

}  // namespace femcg::operators::cuda

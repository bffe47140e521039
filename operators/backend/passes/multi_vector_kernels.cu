// Vector kernels of CG on several systems, on the GPU. A thread takes 16 bytes of a row at a time, and has the same
// columns in all its rows. Words read and written per unknown and column: start 2, update 3, direction 5, delay_update
// 3, catch_up 6, dot 2, and the diagonal once for all columns. Sums are in double precision and in a fixed order.

#include <limits>

#include "operators/backend/cuda/multi_vector_sums.cuh"
#include "operators/backend/cuda/process_sums.cuh"
#include "operators/backend/passes/counted_kernels.hpp"
#include "operators/backend/passes/multi_vector_kernels.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 256;

/// One pack of a row per thread.
template <class T, int stride>
using Layout = cuda::LaneLayout<T, stride, cuda::threads_per_warp>;

/// Calls body(row, lane) for every pack, in a grid-stride loop whose stride is whole rows.
template <class Layout, class Body>
__device__ void for_packs(std::int64_t rows, const Body& body) {
  static_assert(Layout::packs == 1);
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = cuda::thread_number(); i < rows * Layout::lanes; i += threads)
    body(i / Layout::lanes, static_cast<int>(i % Layout::lanes));
}

template <class T>
__device__ T diagonal_entry(const float* inverse_diagonal, std::int64_t row) {
  return inverse_diagonal == nullptr ? T(1) : __ldg(inverse_diagonal + row);
}

/// Step lengths a / b of a thread's columns; 0 for frozen columns.
template <class T, class Layout>
struct ColumnSteps {
  T of[Layout::width];
  __device__ ColumnSteps(const double* a, const double* b, const double* running) {
    const int lane = static_cast<int>(threadIdx.x) % Layout::lanes;
#pragma unroll
    for (int j = 0; j < Layout::width; ++j) {
      const int c = Layout::column(0, lane, j);
      of[j] = running[c] != 0 ? static_cast<T>(step_length(a[c], b[c])) : T(0);
    }
  }
};

/// cuda::sum_columns_of_grid, then the sums over the processes by `over`.
template <class Layout, int N, class Take>
__device__ void sum_columns(cuda::OverThisProcess, const double (&mine)[N][Layout::packs][Layout::width],
                            cuda::ColumnParts parts, const Take& take) {
  cuda::sum_columns_of_grid<Layout>(mine, parts, take);
}
template <class Layout, int N, class Take>
__device__ void sum_columns(const cuda::OverProcesses& over, const double (&mine)[N][Layout::packs][Layout::width],
                            cuda::ColumnParts parts, const Take& take) {
  constexpr int stride = Layout::stride, sums = N * stride;
  static_assert(sums <= cuda::ProcessNumbers::most);
  __shared__ double of_grid[sums];
  if (!cuda::sum_columns_of_grid<Layout>(mine, parts, [&](int n, int c, double sum) { of_grid[n * stride + c] = sum; }))
    return;
  __syncthreads();
  cuda::sum_over_processes(
      over.with, sums, [&](int k) { return of_grid[k]; },
      [&](int k, double sum) { take(k / stride, k % stride, sum); });
}

// Sums run over the first `counted` rows; the rows behind are ghosts of other processes' rows.

template <class T, int stride, class Over>
__global__ void __launch_bounds__(block_threads)
    start_kernel(const __grid_constant__ Over over, std::int64_t rows, std::int64_t counted, const T* r,
                 const float* inverse_diagonal, T* p, double* rz, double* rr, cuda::ColumnParts parts) {
  using S = Layout<T, stride>;
  double sums[2][S::packs][S::width] = {};
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T solve = diagonal_entry<T>(inverse_diagonal, row);
    const typename S::Part of_r = S::load(r + row * stride, lane);
    typename S::Part of_p;
#pragma unroll
    for (int j = 0; j < S::width; ++j) {
      of_p.of[0][j] = solve * of_r.of[0][j];
      if (row >= counted) continue;
      sums[0][0][j] += static_cast<double>(of_r.of[0][j]) * static_cast<double>(of_p.of[0][j]);
      sums[1][0][j] += static_cast<double>(of_r.of[0][j]) * static_cast<double>(of_r.of[0][j]);
    }
    S::store(of_p, p + row * stride, lane);
  });
  sum_columns<S>(over, sums, parts, [&](int n, int c, double sum) { (n == 0 ? rz : rr)[c] = sum; });
}

template <class T, int stride, class Over>
__global__ void __launch_bounds__(block_threads)
    update_kernel(const __grid_constant__ Over over, std::int64_t rows, std::int64_t counted, const double* rz,
                  const double* energy, const double* running, const T* q, const float* inverse_diagonal, T* r,
                  double* new_rz, double* rr, cuda::ColumnParts parts) {
  using S = Layout<T, stride>;
  const ColumnSteps<T, S> alpha(rz, energy, running);
  double sums[2][S::packs][S::width] = {};
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T solve = diagonal_entry<T>(inverse_diagonal, row);
    const typename S::Part of_q = S::load(q + row * stride, lane);
    typename S::Part of_r = S::load(r + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) {
      of_r.of[0][j] -= alpha.of[j] * of_q.of[0][j];
      if (row >= counted) continue;
      sums[0][0][j] += static_cast<double>(of_r.of[0][j]) * static_cast<double>(solve * of_r.of[0][j]);
      sums[1][0][j] += static_cast<double>(of_r.of[0][j]) * static_cast<double>(of_r.of[0][j]);
    }
    S::store(of_r, r + row * stride, lane);
  });
  sum_columns<S>(over, sums, parts, [&](int n, int c, double sum) { (n == 0 ? new_rz : rr)[c] = sum; });
}

template <class T, int stride>
__global__ void __launch_bounds__(block_threads)
    direction_kernel(std::int64_t rows, const double* rz, const double* energy, const double* new_rz,
                     const double* running, const T* r, const float* inverse_diagonal, T* p, T* x) {
  using S = Layout<T, stride>;
  const ColumnSteps<T, S> alpha(rz, energy, running), beta(new_rz, rz, running);
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T solve = diagonal_entry<T>(inverse_diagonal, row);
    const typename S::Part of_r = S::load(r + row * stride, lane);
    typename S::Part of_p = S::load(p + row * stride, lane), of_x = S::load(x + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) {
      of_x.of[0][j] += alpha.of[j] * of_p.of[0][j];
      of_p.of[0][j] = solve * of_r.of[0][j] + beta.of[j] * of_p.of[0][j];
    }
    S::store(of_x, x + row * stride, lane);
    S::store(of_p, p + row * stride, lane);
  });
}

template <class T, int stride>
__global__ void __launch_bounds__(block_threads)
    delay_update_kernel(std::int64_t rows, const double* rz, const double* new_rz, const double* running, const T* r,
                        const float* inverse_diagonal, const T* p, T* second) {
  using S = Layout<T, stride>;
  const ColumnSteps<T, S> beta(new_rz, rz, running);
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T solve = diagonal_entry<T>(inverse_diagonal, row);
    const typename S::Part of_r = S::load(r + row * stride, lane);
    typename S::Part of_p = S::load(p + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) of_p.of[0][j] = solve * of_r.of[0][j] + beta.of[j] * of_p.of[0][j];
    S::store(of_p, second + row * stride, lane);
  });
}

/// r'M^-1 r and p'Ap of two iterations, and r'M^-1 r of the next one.
struct TwoIterations {
  const double *rz_before, *energy_before, *rz, *energy, *new_rz;
};

template <class T, int stride>
__global__ void __launch_bounds__(block_threads)
    catch_up_kernel(std::int64_t rows, TwoIterations of, const double* running, const T* r,
                    const float* inverse_diagonal, const T* second, T* p, T* x) {
  using S = Layout<T, stride>;
  const ColumnSteps<T, S> before(of.rz_before, of.energy_before, running), alpha(of.rz, of.energy, running),
      beta(of.new_rz, of.rz, running);
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T solve = diagonal_entry<T>(inverse_diagonal, row);
    const typename S::Part of_r = S::load(r + row * stride, lane), of_second = S::load(second + row * stride, lane);
    typename S::Part of_p = S::load(p + row * stride, lane), of_x = S::load(x + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) {
      of_x.of[0][j] += before.of[j] * of_p.of[0][j] + alpha.of[j] * of_second.of[0][j];
      of_p.of[0][j] = solve * of_r.of[0][j] + beta.of[j] * of_second.of[0][j];
    }
    S::store(of_x, x + row * stride, lane);
    S::store(of_p, p + row * stride, lane);
  });
}

template <class T, int stride, class Over>
__global__ void __launch_bounds__(block_threads)
    dot_kernel(const __grid_constant__ Over over, std::int64_t rows, const T* a, const T* b, double* result,
               cuda::ColumnParts parts) {
  using S = Layout<T, stride>;
  double sums[1][S::packs][S::width] = {};
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const typename S::Part of_a = S::load(a + row * stride, lane), of_b = S::load(b + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j)
      sums[0][0][j] += static_cast<double>(of_a.of[0][j]) * static_cast<double>(of_b.of[0][j]);
  });
  sum_columns<S>(over, sums, parts, [&](int, int c, double sum) { result[c] = sum; });
}

template <class T, int stride>
__global__ void __launch_bounds__(block_threads)
    chebyshev_first_kernel(std::int64_t rows, T b, const T* r, const float* inverse_diagonal, T* d, T* z) {
  using S = Layout<T, stride>;
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T factor = b * __ldg(inverse_diagonal + row);
    typename S::Part of_d = S::load(r + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) of_d.of[0][j] *= factor;
    S::store(of_d, d + row * stride, lane);
    S::store(of_d, z + row * stride, lane);
  });
}

template <class T, int stride>
__global__ void __launch_bounds__(block_threads)
    chebyshev_next_kernel(std::int64_t rows, T a, T b, const T* r, const T* q, const float* inverse_diagonal, T* d,
                          T* z) {
  using S = Layout<T, stride>;
  for_packs<S>(rows, [&](std::int64_t row, int lane) {
    const T factor = b * __ldg(inverse_diagonal + row);
    const typename S::Part of_r = S::load(r + row * stride, lane), of_q = S::load(q + row * stride, lane);
    typename S::Part of_d = S::load(d + row * stride, lane), of_z = S::load(z + row * stride, lane);
#pragma unroll
    for (int j = 0; j < S::width; ++j) {
      of_d.of[0][j] = a * of_d.of[0][j] + factor * (of_r.of[0][j] - of_q.of[0][j]);
      of_z.of[0][j] += of_d.of[0][j];
    }
    S::store(of_d, d + row * stride, lane);
    S::store(of_z, z + row * stride, lane);
  });
}

/// Most blocks of a grid, eight per multiprocessor.
std::int64_t most_blocks() { return std::int64_t{8} * cuda::multiprocessors(); }

template <class T, class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const MultiVector<T>& of, Arguments&&... arguments) {
  const std::int64_t packs = of.entries().bytes() / 16;
  const std::int64_t blocks = std::clamp<std::int64_t>(packs / block_threads, 1, most_blocks());
  cuda::launch(kernel, blocks, block_threads, 0, std::forward<Arguments>(arguments)...);
}

/// `Over` turns sums over this process into global sums.
template <std::floating_point T, class Over = cuda::OverThisProcess>
class CudaMultiVectorKernels final : public MultiVectorKernels<T>, public DelayedUpdate<MultiVector<T>> {
 public:
  explicit CudaMultiVectorKernels(Over over = {}, std::int64_t counted = std::numeric_limits<std::int64_t>::max())
      : over_(over), counted_(counted), parts_(most_blocks(), 2 * MultiVector<T>::most) {}

  void start(const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal, MultiVector<T>& p,
             CgMultiScalars& first) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      launch(start_kernel<T, stride, Over>, r, over_, r.rows(), counted_, r.data(), data_of(inverse_diagonal), p.data(),
             first.rz.data(), first.rr.data(), parts_.parts());
    });
  }
  void update(const CgMultiScalars& now, const MultiVector<T>& q, const InverseDiagonal* inverse_diagonal,
              MultiVector<T>& r, CgMultiScalars& next) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      launch(update_kernel<T, stride, Over>, r, over_, r.rows(), counted_, now.rz.data(), now.energy.data(),
             now.running.data(), q.data(), data_of(inverse_diagonal), r.data(), next.rz.data(), next.rr.data(),
             parts_.parts());
    });
  }
  void direction(const CgMultiScalars& now, const CgMultiScalars& next, const MultiVector<T>& r,
                 const InverseDiagonal* inverse_diagonal, MultiVector<T>& p, MultiVector<T>& x) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      launch(direction_kernel<T, stride>, r, r.rows(), now.rz.data(), now.energy.data(), next.rz.data(),
             now.running.data(), r.data(), data_of(inverse_diagonal), p.data(), x.data());
    });
  }
  const DelayedUpdate<MultiVector<T>>* delayed_update() const override { return this; }
  void delay_update(const CgMultiScalars& now, const CgMultiScalars& next, const MultiVector<T>& r,
                    const InverseDiagonal* inverse_diagonal, const MultiVector<T>& p,
                    MultiVector<T>& second) const override {
    with_any_stride(r.stride(), [&]<int stride>() {
      launch(delay_update_kernel<T, stride>, r, r.rows(), now.rz.data(), next.rz.data(), now.running.data(), r.data(),
             data_of(inverse_diagonal), p.data(), second.data());
    });
  }
  void catch_up(const CgMultiScalars& before, const CgMultiScalars& now, const CgMultiScalars& next,
                const MultiVector<T>& r, const InverseDiagonal* inverse_diagonal, const MultiVector<T>& second,
                MultiVector<T>& p, MultiVector<T>& x) const override {
    const TwoIterations of{before.rz.data(), before.energy.data(), now.rz.data(), now.energy.data(), next.rz.data()};
    with_any_stride(r.stride(), [&]<int stride>() {
      launch(catch_up_kernel<T, stride>, r, r.rows(), of, now.running.data(), r.data(), data_of(inverse_diagonal),
             second.data(), p.data(), x.data());
    });
  }
  void dot(const MultiVector<T>& a, const MultiVector<T>& b, MultiScalar& result) const override {
    with_any_stride(a.stride(), [&]<int stride>() {
      launch(dot_kernel<T, stride, Over>, a, over_, std::min(a.rows(), counted_), a.data(), b.data(), result.data(),
             parts_.parts());
    });
  }

 private:
  Over over_;
  std::int64_t counted_;
  mutable cuda::ColumnPartsStorage parts_;
};

}  // namespace

template <std::floating_point T>
const MultiVectorKernels<T>& cuda_multi_vector_kernels() {
  static const CudaMultiVectorKernels<T> on_gpu;
  return on_gpu;
}

template const MultiVectorKernels<double>& cuda_multi_vector_kernels();
template const MultiVectorKernels<float>& cuda_multi_vector_kernels();

template <std::floating_point T>
void cuda_chebyshev_first(double b, const MultiVector<T>& r, const InverseDiagonal& inverse_diagonal, MultiVector<T>& d,
                          MultiVector<T>& z) {
  with_any_stride(r.stride(), [&]<int stride>() {
    launch(chebyshev_first_kernel<T, stride>, r, r.rows(), static_cast<T>(b), r.data(), inverse_diagonal.data(),
           d.data(), z.data());
  });
}
template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const MultiVector<T>& r, const MultiVector<T>& q,
                         const InverseDiagonal& inverse_diagonal, MultiVector<T>& d, MultiVector<T>& z) {
  with_any_stride(r.stride(), [&]<int stride>() {
    launch(chebyshev_next_kernel<T, stride>, r, r.rows(), static_cast<T>(a), static_cast<T>(b), r.data(), q.data(),
           inverse_diagonal.data(), d.data(), z.data());
  });
}

template <std::floating_point T>
std::unique_ptr<MultiVectorKernels<T>> make_cuda_multi_vector_kernels(std::int64_t counted,
                                                                      const cuda::ProcessSums* processes) {
  if (processes == nullptr) return std::make_unique<CudaMultiVectorKernels<T>>(cuda::OverThisProcess(), counted);
  return std::make_unique<CudaMultiVectorKernels<T, cuda::OverProcesses>>(cuda::OverProcesses{*processes}, counted);
}

template void cuda_chebyshev_first(double, const MultiVector<double>&, const InverseDiagonal&, MultiVector<double>&,
                                   MultiVector<double>&);
template void cuda_chebyshev_next(double, double, const MultiVector<double>&, const MultiVector<double>&,
                                  const InverseDiagonal&, MultiVector<double>&, MultiVector<double>&);
template void cuda_chebyshev_first(double, const MultiVector<float>&, const InverseDiagonal&, MultiVector<float>&,
                                   MultiVector<float>&);
template void cuda_chebyshev_next(double, double, const MultiVector<float>&, const MultiVector<float>&,
                                  const InverseDiagonal&, MultiVector<float>&, MultiVector<float>&);
template std::unique_ptr<MultiVectorKernels<double>> make_cuda_multi_vector_kernels(std::int64_t,
                                                                                    const cuda::ProcessSums*);
template std::unique_ptr<MultiVectorKernels<float>> make_cuda_multi_vector_kernels(std::int64_t,
                                                                                   const cuda::ProcessSums*);

}  // namespace femcg::operators

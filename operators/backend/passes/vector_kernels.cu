// Vector kernels of CG on the GPU, in grid-stride loops with every block resident; a thread takes 16 bytes of each
// vector at a time. Words read and written per unknown: start 2, update 3, direction 5, delay_update 3, catch_up 6,
// advance 9, advance_pipelined 13, dot 2; with a diagonal also M^-1 once each except for dot, two words of u in
// advance, and one of m in advance_pipelined. Scalars are read from and written to device memory; sums are in double
// precision and in a fixed order.
//
// Vectors that are not used again before all others have passed (q after update, r, x and an old direction after
// delay_update) are accessed with an evict-first hint: the L2 cache then keeps the new direction for the next product,
// and r from update to direction. On an H200 this saves 2 to 5 percent of an iteration at four million unknowns.

#include <algorithm>
#include <cassert>
#include <cuda/std/bit>
#include <limits>
#include <memory>

#include "operators/backend/cuda/process_sums.cuh"
#include "operators/backend/cuda/reductions.cuh"
#include "operators/backend/passes/counted_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"

namespace femcg::operators {

namespace {

constexpr int block_threads = 512;

/// 16 bytes of values.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / sizeof(T);
  T value[size];
};

/// Tag for the number of rows that a thread takes at a time, for overloads.
template <int>
struct Count {};

// In a sum of two products fma says which one is rounded: a compiler's choice would differ between packs and single
// rows, and so between the copies of a shared unknown on several processes.

/// True for entries that count in sums; the entries behind them are ghosts of other processes' entries.
struct Counted {
  __device__ bool operator()(std::int64_t i) const { return i < entries; }
  std::int64_t entries;
};

/// Calls body(i, Count<count>()) for all rows, `count` at a time, the last ones one by one.
template <class T, class Body>
__device__ void for_packs(std::int64_t rows, const Body& body) {
  constexpr int size = Pack<T>::size;
  const std::int64_t thread = cuda::thread_number();
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t packs = rows / size;
  for (std::int64_t pack = thread; pack < packs; pack += threads) body(pack * size, Count<size>());
  if (thread < rows - packs * size) body(packs * size + thread, Count<1>());
}

template <class T, int N>
__device__ void load(const T* from, T (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = *from;
  } else {
    const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(from);
    for (int k = 0; k < N; ++k) to[k] = pack.value[k];
  }
}
/// The same with an evict-first hint.
template <class T, int N>
__device__ void load_once(const T* from, T (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = __ldcs(from);
  } else {
    const auto pack = ::cuda::std::bit_cast<Pack<T>>(__ldcs(reinterpret_cast<const int4*>(from)));
    for (int k = 0; k < N; ++k) to[k] = pack.value[k];
  }
}
template <class T, int N>
__device__ void store(const T (&from)[N], T* to) {
  if constexpr (N == 1) {
    *to = from[0];
  } else {
    Pack<T> pack;
    for (int k = 0; k < N; ++k) pack.value[k] = from[k];
    *reinterpret_cast<Pack<T>*>(to) = pack;
  }
}
template <class T, int N>
__device__ void store_once(const T (&from)[N], T* to) {
  if constexpr (N == 1) {
    __stcs(to, from[0]);
  } else {
    Pack<T> pack;
    for (int k = 0; k < N; ++k) pack.value[k] = from[k];
    __stcs(reinterpret_cast<int4*>(to), ::cuda::std::bit_cast<int4>(pack));
  }
}

/// M^-1 of the rows from i on; 1 if `inverse_diagonal` is null (M = I).
template <int N>
__device__ void load_inverse(const float* inverse_diagonal, std::int64_t i, float (&to)[N]) {
  struct alignas(N * sizeof(float)) Inverses {
    float value[N];
  };
  if (inverse_diagonal == nullptr) {
    for (int k = 0; k < N; ++k) to[k] = 1;
  } else {
    const Inverses inverses = *reinterpret_cast<const Inverses*>(inverse_diagonal + i);
    for (int k = 0; k < N; ++k) to[k] = inverses.value[k];
  }
}

/// Sums the threads' N values over the grid and, by `over`, over the processes, then calls take(sums) in one thread.
/// Called once by every thread, at its end.
template <int N, class Over, class Take>
__device__ void sum_over(const Over& over, const double (&values)[N], cuda::Parts<N> parts, const Take& take) {
  __shared__ double of_warp[N * cuda::numbers_to_sum_block];
  double sums[N];
  if (!cuda::sums_of_grid(values, parts, sums, of_warp)) return;
  over(sums);
  if (threadIdx.x == 0) take(sums);
}

template <class T, class Over>
__global__ void __launch_bounds__(block_threads)
    start_kernel(const __grid_constant__ Over over, std::int64_t rows, Counted counted, const T* r,
                 const float* inverse_diagonal, T* p, double* rz, double* rr, cuda::Parts<2> parts) {
  cuda::await_previous();
  double sums[2] = {0, 0};
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_p[count];
    float of_inverse[count];
    load(r + i, of_r);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_p[k] = of_inverse[k] * of_r[k];
      if (!counted(i + k)) continue;
      sums[0] += static_cast<double>(of_r[k]) * static_cast<double>(of_p[k]);
      sums[1] += static_cast<double>(of_r[k]) * static_cast<double>(of_r[k]);
    }
    store(of_p, p + i);
  });
  sum_over(over, sums, parts, [&](const double(&results)[2]) {
    *rz = results[0];
    *rr = results[1];
  });
}

template <class T, class Over>
__global__ void __launch_bounds__(block_threads)
    update_kernel(const __grid_constant__ Over over, std::int64_t rows, Counted counted, const double* rz,
                  const double* energy, const T* q, const float* inverse_diagonal, T* r, double* new_rz, double* rr,
                  cuda::Parts<2> parts) {
  cuda::await_previous();
  const T alpha = static_cast<T>(step_length(*rz, *energy));
  double sums[2] = {0, 0};
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_q[count], of_r[count];
    float of_inverse[count];
    load_once(q + i, of_q);
    load(r + i, of_r);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_r[k] -= alpha * of_q[k];
      const T of_z = of_inverse[k] * of_r[k];
      if (!counted(i + k)) continue;
      sums[0] += static_cast<double>(of_r[k]) * static_cast<double>(of_z);
      sums[1] += static_cast<double>(of_r[k]) * static_cast<double>(of_r[k]);
    }
    store(of_r, r + i);
  });
  sum_over(over, sums, parts, [&](const double(&results)[2]) {
    *new_rz = results[0];
    *rr = results[1];
  });
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    direction_kernel(std::int64_t rows, const double* rz, const double* energy, const double* new_rz, const T* r,
                     const float* inverse_diagonal, T* p, T* x) {
  cuda::await_previous();
  const T alpha = static_cast<T>(step_length(*rz, *energy)), beta = static_cast<T>(step_length(*new_rz, *rz));
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_p[count], of_x[count];
    float of_inverse[count];
    load_once(r + i, of_r);
    load(p + i, of_p);
    load_once(x + i, of_x);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_x[k] += alpha * of_p[k];
      of_p[k] = fma(beta, of_p[k], of_inverse[k] * of_r[k]);
    }
    store_once(of_x, x + i);
    store(of_p, p + i);
  });
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    delay_update_kernel(std::int64_t rows, const double* rz, const double* new_rz, const T* r,
                        const float* inverse_diagonal, const T* p, T* second) {
  cuda::await_previous();
  const T beta = static_cast<T>(step_length(*new_rz, *rz));
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_p[count];
    float of_inverse[count];
    load_once(r + i, of_r);
    load_once(p + i, of_p);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) of_p[k] = fma(beta, of_p[k], of_inverse[k] * of_r[k]);
    store(of_p, second + i);
  });
}

/// r'M^-1 r and p'Ap of two iterations, and r'M^-1 r of the next one.
struct TwoIterations {
  const double *rz_before, *energy_before, *rz, *energy, *new_rz;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    catch_up_kernel(std::int64_t rows, TwoIterations of, const T* r, const float* inverse_diagonal, const T* second,
                    T* p, T* x) {
  cuda::await_previous();
  const T alpha_before = static_cast<T>(step_length(*of.rz_before, *of.energy_before)),
          alpha = static_cast<T>(step_length(*of.rz, *of.energy)),
          beta = static_cast<T>(step_length(*of.new_rz, *of.rz));
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_p[count], of_second[count], of_x[count];
    float of_inverse[count];
    load_once(r + i, of_r);
    load_once(p + i, of_p);
    load_once(second + i, of_second);
    load_once(x + i, of_x);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_x[k] += fma(alpha, of_second[k], alpha_before * of_p[k]);
      of_p[k] = fma(beta, of_second[k], of_inverse[k] * of_r[k]);
    }
    store_once(of_x, x + i);
    store(of_p, p + i);
  });
}

/// The vectors of the single-reduction method as pointers; u may be r.
template <class T>
struct Advanced {
  const T* w;
  const float* inverse_diagonal;
  T *u, *p, *s, *x, *r;
};

template <class T, class Over>
__global__ void __launch_bounds__(block_threads)
    advance_kernel(const __grid_constant__ Over over, std::int64_t rows, Counted counted, const double* old_rz,
                   const double* old_energy, const double* rz, const double* uw, double* energy, Advanced<T> v,
                   double* new_rz, double* rr, cuda::Parts<2> parts) {
  cuda::await_previous();
  const StepLengths lengths = step_lengths(*old_rz, *old_energy, *rz, *uw);
  const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
  double sums[2] = {0, 0};
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_u[count], of_w[count], of_p[count], of_s[count], of_x[count], of_r[count];
    float of_inverse[count];
    load(v.u + i, of_u);
    load(v.w + i, of_w);
    load(v.p + i, of_p);
    load(v.s + i, of_s);
    load(v.x + i, of_x);
    load(v.r + i, of_r);
    load_inverse(v.inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_p[k] = of_u[k] + beta * of_p[k];
      of_s[k] = of_w[k] + beta * of_s[k];
      of_x[k] += alpha * of_p[k];
      of_r[k] -= alpha * of_s[k];
      of_u[k] = of_inverse[k] * of_r[k];
      if (!counted(i + k)) continue;
      sums[0] += static_cast<double>(of_r[k]) * static_cast<double>(of_u[k]);
      sums[1] += static_cast<double>(of_r[k]) * static_cast<double>(of_r[k]);
    }
    store(of_p, v.p + i);
    store(of_s, v.s + i);
    store(of_x, v.x + i);
    store(of_r, v.r + i);
    if (v.inverse_diagonal != nullptr) store(of_u, v.u + i);
  });
  sum_over(over, sums, parts, [&](const double(&results)[2]) {
    *energy = lengths.energy;
    *new_rz = results[0];
    *rr = results[1];
  });
}

/// CgScalars of an iteration as pointers.
struct NumbersOfIteration {
  double *rz, *rr, *energy, *uw;
};

/// The vectors of the pipelined method as pointers; m may be w.
template <class T>
struct AdvancedAhead {
  const T* n;
  const float* inverse_diagonal;
  T *m, *z, *w, *p, *s, *x, *r;
};

/// `under_way`: the sums of `now` are still to be received from the processes.
template <class T, class Over>
__global__ void __launch_bounds__(block_threads)
    advance_pipelined_kernel(const __grid_constant__ Over over, std::int64_t rows, Counted counted, bool under_way,
                             NumbersOfIteration before, NumbersOfIteration now, AdvancedAhead<T> v,
                             NumbersOfIteration next, cuda::Parts<3> parts) {
  cuda::await_previous();
  double of_now[3];
  if (under_way) {
    if constexpr (Over::waits) over.take(of_now);
  } else {
    of_now[0] = *now.rz;
    of_now[1] = *now.rr;
    of_now[2] = *now.uw;
  }
  const StepLengths lengths = step_lengths(*before.rz, *before.energy, of_now[0], of_now[2]);
  const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
  double sums[3] = {0, 0, 0};
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_n[count], of_z[count], of_w[count], of_p[count], of_s[count], of_x[count], of_r[count], of_m[count];
    float of_inverse[count];
    load_once(v.n + i, of_n);
    load(v.z + i, of_z);
    load(v.w + i, of_w);
    load(v.p + i, of_p);
    load(v.s + i, of_s);
    load(v.x + i, of_x);
    load(v.r + i, of_r);
    load_inverse(v.inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) {
      of_p[k] = fma(beta, of_p[k], of_inverse[k] * of_r[k]);
      of_s[k] = of_w[k] + beta * of_s[k];
      of_z[k] = of_n[k] + beta * of_z[k];
      of_x[k] += alpha * of_p[k];
      of_r[k] -= alpha * of_s[k];
      of_w[k] -= alpha * of_z[k];
      const T of_u = of_inverse[k] * of_r[k];
      of_m[k] = of_inverse[k] * of_w[k];
      if (!counted(i + k)) continue;
      sums[0] += static_cast<double>(of_r[k]) * static_cast<double>(of_u);
      sums[1] += static_cast<double>(of_r[k]) * static_cast<double>(of_r[k]);
      sums[2] += static_cast<double>(of_u) * static_cast<double>(of_w[k]);
    }
    store_once(of_p, v.p + i);
    store_once(of_s, v.s + i);
    store_once(of_z, v.z + i);
    store_once(of_x, v.x + i);
    store_once(of_r, v.r + i);
    store(of_w, v.w + i);
    if (v.inverse_diagonal != nullptr) store(of_m, v.m + i);
  });
  __shared__ double of_warp[3 * cuda::numbers_to_sum_block];
  double results[3];
  if (!cuda::sums_of_grid(sums, parts, results, of_warp)) return;  // the last block may go on: all have read `now`
  if constexpr (Over::waits) over.post(results);
  if (threadIdx.x != 0) return;
  if (under_way) {
    *now.rz = of_now[0];
    *now.rr = of_now[1];
    *now.uw = of_now[2];
  }
  *now.energy = lengths.energy;
  if constexpr (!Over::waits) {
    *next.rz = results[0];
    *next.rr = results[1];
    *next.uw = results[2];
  }
}

/// Receives the sums of the last iteration from all processes. One block.
__global__ void complete_sums_kernel(const __grid_constant__ cuda::OverProcesses over, NumbersOfIteration next) {
  cuda::await_previous();
  double sums[3];
  over.take(sums);
  if (threadIdx.x != 0) return;
  *next.rz = sums[0];
  *next.rr = sums[1];
  *next.uw = sums[2];
}

template <class T, class Over>
__global__ void __launch_bounds__(block_threads)
    dot_kernel(const __grid_constant__ Over over, std::int64_t rows, const T* a, const T* b, double* result,
               cuda::Parts<1> parts) {
  cuda::await_previous();
  double sums[1] = {0};
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_a[count], of_b[count];
    load(a + i, of_a);
    load(b + i, of_b);
    for (int k = 0; k < count; ++k) sums[0] += static_cast<double>(of_a[k]) * static_cast<double>(of_b[k]);
  });
  sum_over(over, sums, parts, [&](const double(&results)[1]) { *result = results[0]; });
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    chebyshev_first_kernel(std::int64_t rows, T b, const T* r, const float* inverse_diagonal, T* d, T* z) {
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_d[count];
    float of_inverse[count];
    load(r + i, of_r);
    load_inverse(inverse_diagonal, i, of_inverse);
    for (int k = 0; k < count; ++k) of_d[k] = b * of_inverse[k] * of_r[k];
    store_once(of_d, d + i);
    store(of_d, z + i);
  });
}

/// Stores d with an evict-first hint, as the next step comes after a product; z is read by that product.
template <class T>
__global__ void __launch_bounds__(block_threads)
    chebyshev_next_kernel(std::int64_t rows, T a, T b, const T* r, const T* q, const float* inverse_diagonal, T* d,
                          T* z) {
  for_packs<T>(rows, [&]<int count>(std::int64_t i, Count<count>) {
    T of_r[count], of_q[count], of_d[count], of_z[count];
    float of_inverse[count];
    load(r + i, of_r);
    load_once(q + i, of_q);
    load_inverse(inverse_diagonal, i, of_inverse);
    load_once(d + i, of_d);
    load(z + i, of_z);
    for (int k = 0; k < count; ++k) {
      of_d[k] = fma(a, of_d[k], b * of_inverse[k] * (of_r[k] - of_q[k]));
      of_z[k] += of_d[k];
    }
    store_once(of_d, d + i);
    store(of_z, z + i);
  });
}

/// Blocks of a grid; at least one, which writes the sums even without rows.
template <class T>
std::int64_t blocks(std::int64_t rows, std::int64_t persistent) {
  constexpr std::int64_t rows_per_block = block_threads * Pack<T>::size;
  return std::clamp<std::int64_t>((rows + rows_per_block - 1) / rows_per_block, 1, persistent);
}

/// `Over` turns sums over this process into global sums.
template <std::floating_point T, class Over = cuda::OverThisProcess>
class CudaKernels final : public VectorKernels<T>, public DelayedUpdate<Vector<T>> {
 public:
  explicit CudaKernels(Over over = {}, std::int64_t counted = std::numeric_limits<std::int64_t>::max())
      : over_(over),
        counted_{counted},
        start_blocks_(cuda::resident_blocks(start_kernel<T, Over>, block_threads)),
        update_blocks_(cuda::resident_blocks(update_kernel<T, Over>, block_threads)),
        direction_blocks_(cuda::resident_blocks(direction_kernel<T>, block_threads)),
        delay_update_blocks_(cuda::resident_blocks(delay_update_kernel<T>, block_threads)),
        catch_up_blocks_(cuda::resident_blocks(catch_up_kernel<T>, block_threads)),
        advance_blocks_(cuda::resident_blocks(advance_kernel<T, Over>, block_threads)),
        pipelined_blocks_(cuda::resident_blocks(advance_pipelined_kernel<T, Over>, block_threads)),
        dot_blocks_(cuda::resident_blocks(dot_kernel<T, Over>, block_threads)),
        three_(pipelined_blocks_),
        two_(std::max({start_blocks_, update_blocks_, advance_blocks_})),
        one_(dot_blocks_) {}

  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override {
    assert(r.size() == p.size());
    cuda::launch_early(start_kernel<T, Over>, blocks<T>(r.size(), start_blocks_), block_threads, 0, over_, r.size(),
                       counted_, r.data(), data_of(inverse_diagonal), p.data(), first.rz.data(), first.rr.data(),
                       two_.parts());
  }

  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    assert(q.size() == r.size());
    cuda::launch_early(update_kernel<T, Over>, blocks<T>(r.size(), update_blocks_), block_threads, 0, over_, r.size(),
                       counted_, now.rz.data(), now.energy.data(), q.data(), data_of(inverse_diagonal), r.data(),
                       next.rz.data(), next.rr.data(), two_.parts());
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override {
    assert(r.size() == p.size() && x.size() == p.size());
    cuda::launch_early(direction_kernel<T>, blocks<T>(r.size(), direction_blocks_), block_threads, 0, r.size(),
                       now.rz.data(), now.energy.data(), next.rz.data(), r.data(), data_of(inverse_diagonal), p.data(),
                       x.data());
  }

  const DelayedUpdate<Vector<T>>* delayed_update() const override { return this; }

  void delay_update(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                    const InverseDiagonal* inverse_diagonal, const Vector<T>& p, Vector<T>& second) const override {
    assert(r.size() == p.size() && second.size() == p.size());
    cuda::launch_early(delay_update_kernel<T>, blocks<T>(r.size(), delay_update_blocks_), block_threads, 0, r.size(),
                       now.rz.data(), next.rz.data(), r.data(), data_of(inverse_diagonal), p.data(), second.data());
  }

  void catch_up(const CgScalars& before, const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                const InverseDiagonal* inverse_diagonal, const Vector<T>& second, Vector<T>& p,
                Vector<T>& x) const override {
    assert(r.size() == p.size() && second.size() == p.size() && x.size() == p.size());
    const TwoIterations of{before.rz.data(), before.energy.data(), now.rz.data(), now.energy.data(), next.rz.data()};
    cuda::launch_early(catch_up_kernel<T>, blocks<T>(r.size(), catch_up_blocks_), block_threads, 0, r.size(), of,
                       r.data(), data_of(inverse_diagonal), second.data(), p.data(), x.data());
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    assert(r.size() == x.size() && vectors.w.size() == r.size());
    const Advanced<T> of{
        vectors.w.data(), data_of(inverse_diagonal), inverse_diagonal != nullptr ? vectors.u.data() : r.data(),
        vectors.p.data(), vectors.s.data(),          x.data(),
        r.data()};
    cuda::launch_early(advance_kernel<T, Over>, blocks<T>(r.size(), advance_blocks_), block_threads, 0, over_, r.size(),
                       counted_, before.rz.data(), before.energy.data(), now.rz.data(), now.uw.data(),
                       now.energy.data(), of, next.rz.data(), next.rr.data(), two_.parts());
  }

  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override {
    assert(r.size() == x.size() && ahead.n.size() == r.size());
    T* m = inverse_diagonal != nullptr ? ahead.m.data() : vectors.w.data();
    const AdvancedAhead<T> of{ahead.n.data(),   data_of(inverse_diagonal), m,        ahead.z.data(), vectors.w.data(),
                              vectors.p.data(), vectors.s.data(),          x.data(), r.data()};
    cuda::launch_early(advance_pipelined_kernel<T, Over>, blocks<T>(r.size(), pipelined_blocks_), block_threads, 0,
                       over_, r.size(), counted_, sums_under_way_, numbers_of(before), numbers_of(now), of,
                       numbers_of(next), three_.parts());
    sums_under_way_ = Over::waits;
  }

  void complete_sums(CgScalars& last) const override {
    if constexpr (Over::waits)
      if (sums_under_way_) cuda::launch_early(complete_sums_kernel, 1, 32, 0, over_, numbers_of(last));
    sums_under_way_ = false;
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    assert(a.size() == b.size());
    const std::int64_t size = std::min(a.size(), counted_.entries);
    cuda::launch_early(dot_kernel<T, Over>, blocks<T>(size, dot_blocks_), block_threads, 0, over_, size, a.data(),
                       b.data(), result.data(), one_.parts());
  }

 private:
  static NumbersOfIteration numbers_of(const CgScalars& of) {
    const auto at = [](const Scalar& number) { return const_cast<double*>(number.data()); };
    return {at(of.rz), at(of.rr), at(of.energy), at(of.uw)};
  }

  Over over_;
  Counted counted_;
  std::int64_t start_blocks_, update_blocks_, direction_blocks_, delay_update_blocks_, catch_up_blocks_,
      advance_blocks_, pipelined_blocks_, dot_blocks_;
  mutable cuda::PartsStorage<3> three_;
  mutable cuda::PartsStorage<2> two_;
  mutable cuda::PartsStorage<1> one_;
  mutable bool sums_under_way_ = false;  ///< of the last enqueued advance_pipelined
};

}  // namespace

template <std::floating_point T>
const VectorKernels<T>& cuda_vector_kernels() {
  static const CudaKernels<T> kernels;
  return kernels;
}

template <std::floating_point T>
std::unique_ptr<VectorKernels<T>> make_cuda_vector_kernels(std::int64_t counted, const cuda::ProcessSums* processes) {
  if (processes == nullptr) return std::make_unique<CudaKernels<T>>(cuda::OverThisProcess(), counted);
  return std::make_unique<CudaKernels<T, cuda::OverProcesses>>(cuda::OverProcesses{*processes}, counted);
}

template <std::floating_point T>
void cuda_chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d,
                          Vector<T>& z) {
  static const std::int64_t persistent = cuda::resident_blocks(chebyshev_first_kernel<T>, block_threads);
  cuda::launch(chebyshev_first_kernel<T>, blocks<T>(r.size(), persistent), block_threads, 0, r.size(),
               static_cast<T>(b), r.data(), inverse_diagonal.data(), d.data(), z.data());
}

template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const Vector<T>& r, const Vector<T>& q,
                         const InverseDiagonal& inverse_diagonal, Vector<T>& d, Vector<T>& z) {
  static const std::int64_t persistent = cuda::resident_blocks(chebyshev_next_kernel<T>, block_threads);
  cuda::launch(chebyshev_next_kernel<T>, blocks<T>(r.size(), persistent), block_threads, 0, r.size(), static_cast<T>(a),
               static_cast<T>(b), r.data(), q.data(), inverse_diagonal.data(), d.data(), z.data());
}

template const VectorKernels<double>& cuda_vector_kernels();
template const VectorKernels<float>& cuda_vector_kernels();
template std::unique_ptr<VectorKernels<double>> make_cuda_vector_kernels(std::int64_t, const cuda::ProcessSums*);
template std::unique_ptr<VectorKernels<float>> make_cuda_vector_kernels(std::int64_t, const cuda::ProcessSums*);
template void cuda_chebyshev_first(double, const Vector<double>&, const InverseDiagonal&, Vector<double>&,
                                   Vector<double>&);
template void cuda_chebyshev_first(double, const Vector<float>&, const InverseDiagonal&, Vector<float>&,
                                   Vector<float>&);
template void cuda_chebyshev_next(double, double, const Vector<double>&, const Vector<double>&, const InverseDiagonal&,
                                  Vector<double>&, Vector<double>&);
template void cuda_chebyshev_next(double, double, const Vector<float>&, const Vector<float>&, const InverseDiagonal&,
                                  Vector<float>&, Vector<float>&);

}  // namespace femcg::operators

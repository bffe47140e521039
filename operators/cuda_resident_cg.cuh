#pragma once

// The single-reduction method of CG (Chronopoulos & Gear 1989) in one kernel that stays on the GPU. Each thread keeps
// its rows' entries of p, s, x and r in registers; only u = M^-1 r goes through memory, and the matrix comes from the
// caches. An iteration waits twice for the whole grid: for u'w after the product, and for u and r'u after the update.
// Sums are in fixed order: two runs give the same bits.

#include "operators/cuda_meeting.cuh"
#include "operators/cuda_product.cuh"
#include "operators/cuda_step_length.cuh"
#include "operators/resident_cg.hpp"

namespace femcg::operators::cuda {

constexpr int resident_threads = 1024;

/// Rows that a group of threads has.
constexpr int resident_rows = 2;

/// The vectors of the method; u is r where there is no diagonal.
template <class T>
struct ResidentVectors {
  const T* inverse_diagonal;
  T *u, *p, *s, *x, *r;
};

/// One row's entries, in registers.
template <class T, class Row>
struct ResidentRow {
  Row row;
  std::int32_t number;  ///< -1: none
  T inverse_diagonal, u, w, p, s, x, r;
};

/// `count` entries of a row, `stride` apart, times u: every `group`-th of them from the lane's on. u is read past the
/// first-level cache, which knows nothing of what other multiprocessors wrote.
template <int group, class T, class Value, class Column>
__device__ T resident_row_times(const Value* values, const Column* columns, std::int64_t stride, std::int32_t count,
                                int lane, const T* u) {
  constexpr int together = 4;
  T sum = 0;
  for (std::int32_t k = lane; k < count; k += together * group) {
    T value[together], of_u[together];
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const bool there = k + j * group < count;
      const std::int64_t at = (there ? k + j * group : k) * stride;
      value[j] = there ? static_cast<T>(values[at]) : T(0);
      of_u[j] = __ldcg(u + columns[at]);
    }
#pragma unroll
    for (int j = 0; j < together; ++j) sum += value[j] * of_u[j];
  }
  return sum;
}

/// `Rows` is a matrix by rows: find(i) is what is to be known of the i-th, with its number in `number`;
/// times<group>(row, lane, u) is this lane's share of its product with u.
template <class T, class Rows, int group>
__global__ void __launch_bounds__(resident_threads)
    resident_cg_kernel(Rows a, ResidentVectors<T> v, int iterations, double* scalars, Meetings meetings) {
  using Row = decltype(a.find(0));
  const int lane = static_cast<int>(threadIdx.x) % group;
  const std::int64_t groups = std::int64_t{gridDim.x} * (resident_threads / group);
  const std::int64_t first = std::int64_t{blockIdx.x} * (resident_threads / group) + threadIdx.x / group;
  ResidentRow<T, Row> mine[resident_rows];
#pragma unroll
  for (int k = 0; k < resident_rows; ++k) {
    const std::int64_t index = first + k * groups;
    ResidentRow<T, Row>& of = mine[k];
    of.number = -1;
    if (index >= a.rows) continue;
    of.row = a.find(static_cast<std::int32_t>(index));
    const std::int32_t i = of.number = of.row.number;
    of.inverse_diagonal = v.inverse_diagonal != nullptr ? v.inverse_diagonal[i] : T(1);
    of.u = v.u[i];
    of.p = v.p[i];
    of.s = v.s[i];
    of.x = v.x[i];
    of.r = v.r[i];
  }
  double old_rz = scalars[0], old_energy = scalars[2], rz = scalars[CgScalars::count];
  for (int iteration = 1; iteration <= iterations; ++iteration) {
    double uw[1] = {0};
#pragma unroll
    for (int k = 0; k < resident_rows; ++k) {
      T sum = mine[k].number >= 0 ? a.template times<group>(mine[k].row, lane, v.u) : T(0);
#pragma unroll
      for (int distance = group / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(all_lanes, sum, distance);
      mine[k].w = sum;
      if (mine[k].number >= 0 && lane == 0) uw[0] += static_cast<double>(mine[k].u) * static_cast<double>(sum);
    }
    meet(uw, meetings);
    const double factor = step_length(rz, old_rz), energy = uw[0] - factor * factor * old_energy;
    const T alpha = static_cast<T>(step_length(rz, energy)), beta = static_cast<T>(factor);
    double sums[2] = {0, 0};
#pragma unroll
    for (int k = 0; k < resident_rows; ++k) {
      ResidentRow<T, Row>& of = mine[k];
      if (of.number < 0) continue;
      of.p = of.u + beta * of.p;
      of.s = of.w + beta * of.s;
      of.x += alpha * of.p;
      of.r -= alpha * of.s;
      of.u = of.inverse_diagonal * of.r;
      if (lane != 0) continue;
      __stcg(v.u + of.number, of.u);
      sums[0] += static_cast<double>(of.r) * static_cast<double>(of.u);
      sums[1] += static_cast<double>(of.r) * static_cast<double>(of.r);
    }
    meet(sums, meetings);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      double* now = scalars + std::int64_t{CgScalars::count} * iteration;
      now[2] = energy;
      now[3] = uw[0];
      now[CgScalars::count] = sums[0];
      now[CgScalars::count + 1] = sums[1];
    }
    old_rz = rz;
    old_energy = energy;
    rz = sums[0];
  }
#pragma unroll
  for (int k = 0; k < resident_rows; ++k) {
    const ResidentRow<T, Row>& of = mine[k];
    if (of.number < 0 || lane != 0) continue;
    v.p[of.number] = of.p;
    v.s[of.number] = of.s;
    v.x[of.number] = of.x;
    v.r[of.number] = of.r;
  }
}

/// The loop for a matrix by rows.
template <class T, class Rows>
class ResidentRows final : public ResidentCg<T> {
 public:
  /// The most rows that threads of the GPU can have at once.
  static std::int64_t most_rows() { return blocks() * resident_threads * resident_rows; }

  ResidentRows(const Rows& rows, double mean_length) : rows_(rows), slots_(Meetings::slots(blocks()), Device::cuda) {
    cuda_clear(slots_.data(), slots_.bytes());
    // As many threads a row as there are, and no more than give each a few entries.
    while (group_ < 8 && 2 * group_ * std::int64_t{rows_.rows} <= most_rows() && 4 * group_ <= mean_length) group_ *= 2;
    const std::int64_t threads = std::int64_t{rows_.rows} * group_;
    blocks_ = std::clamp<std::int64_t>((threads + resident_threads - 1) / resident_threads, 1, blocks());
  }

  void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const Vector<T>* inverse_diagonal, Vector<T>& x,
               Vector<T>& r, Vector<double>& scalars) const override {
    ResidentVectors<T> v{inverse_diagonal != nullptr ? inverse_diagonal->data() : nullptr,
                         inverse_diagonal != nullptr ? vectors.u.data() : r.data(),
                         vectors.p.data(),
                         vectors.s.data(),
                         x.data(),
                         r.data()};
    Rows rows = rows_;
    int count = static_cast<int>(iterations);
    double* numbers = scalars.data();
    Meetings meetings{slots_.data(), meetings_};
    void* arguments[] = {&rows, &v, &count, &numbers, &meetings};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel()), dim3(static_cast<unsigned>(blocks_)),
                                      dim3(resident_threads), arguments, 0, stream()),
          "launching the loop inside one kernel");
    meetings_ += 2 * static_cast<std::uint64_t>(iterations);
  }

 private:
  using Kernel = void (*)(Rows, ResidentVectors<T>, int, double*, Meetings);
  Kernel kernel() const {
    switch (group_) {
      case 1:
        return resident_cg_kernel<T, Rows, 1>;
      case 2:
        return resident_cg_kernel<T, Rows, 2>;
      case 4:
        return resident_cg_kernel<T, Rows, 4>;
      default:
        return resident_cg_kernel<T, Rows, 8>;
    }
  }
  static std::int64_t blocks() {
    static const std::int64_t blocks = std::min({resident_blocks(resident_cg_kernel<T, Rows, 1>, resident_threads),
                                                 resident_blocks(resident_cg_kernel<T, Rows, 2>, resident_threads),
                                                 resident_blocks(resident_cg_kernel<T, Rows, 4>, resident_threads),
                                                 resident_blocks(resident_cg_kernel<T, Rows, 8>, resident_threads)});
    return blocks;
  }

  Rows rows_;
  int group_ = 1;
  std::int64_t blocks_ = 1;
  mutable Vector<StampedPart> slots_;
  mutable std::uint64_t meetings_ = 0;  ///< of all launches so far
};

}  // namespace femcg::operators::cuda

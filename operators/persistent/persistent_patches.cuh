#pragma once

// The single-reduction method of CG (Chronopoulos & Gear 1989) in one persistent kernel, with a product over patches of
// cells: one thread block a patch. The block keeps u, p, s, x and r of all unknowns of its patch in shared memory.
// Unknowns shared with other patches are updated redundantly: each patch adds up all contributions to w = A u, in the
// order of the patches, so that all copies have the same bits. Blocks exchange twice an iteration (block_exchange.cuh),
// each time one way through the L2 cache:
//
//   w      a patch's contribution to each shared unknown, stamped with its epoch
//   sums   u'w, r'u and r'r over the unknowns that the patch owns; the last two are published before the product
//
// Sums are in fixed order: two runs give the same bits.

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/backend/cuda/block_exchange.cuh"
#include "operators/backend/passes/step_lengths.hpp"
#include "operators/cellwise/cell_loops/patch_product.cuh"
#include "operators/persistent/persistent_cg.hpp"
#include "operators/persistent/persistent_vectors.cuh"

namespace femcg::operators::cuda {

/// Patches and exchange buffers of the persistent kernel.
template <class T>
struct PatchLoop {
  Patches all;
  const std::int32_t* interface_of_shared;  ///< the entry of Patches::interface of each contribution
  int room, scratch;                        ///< values of shared memory for a vector, and for the cells' work
  Stamped<T>* contributions;
  Stamped<double>*
      parts;            ///< of two epochs: some blocks still poll those of the last one while others write the next one
  std::uint64_t epoch;  ///< last epoch before this launch
};

enum PatchSum { patch_uw, patch_ru, patch_rr, patch_sums };

/// N sums over the block, known to all its threads. Called by all of them; `of_warp` has N values per warp.
template <int threads, int N>
__device__ void sum_over_block(double (&values)[N], double* of_warp) {
  constexpr int warps = threads / threads_per_warp;
#pragma unroll
  for (int n = 0; n < N; ++n)
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
      values[n] += __shfl_xor_sync(all_lanes, values[n], distance);
  if (threadIdx.x % threads_per_warp == 0)
    for (int n = 0; n < N; ++n) of_warp[n * warps + threadIdx.x / threads_per_warp] = values[n];
  __syncthreads();
#pragma unroll
  for (int n = 0; n < N; ++n) {
    values[n] = 0;
    for (int warp = 0; warp < warps; ++warp) values[n] += of_warp[n * warps + warp];
  }
  __syncthreads();
}

/// State and steps of one thread of a patch's block.
template <class T, class Cells>
class PatchThread {
 public:
  static constexpr int threads = Cells::threads;

  __device__ PatchThread(const PatchLoop<T>& loop, const PersistentVectors<T>& v, T* shared, double* of_warp)
      : loop_(loop),
        v_(v),
        patch_(loop.all.patches[blockIdx.x]),
        of_warp_(of_warp),
        u_(shared),
        w_(u_ + loop.room),
        scratch_(w_ + loop.room),
        p_(scratch_ + loop.scratch),
        s_(p_ + loop.room),
        x_(s_ + loop.room),
        r_(x_ + loop.room) {
    if (threadIdx.x == 0) u_[patch_.unknown_count] = T(0);
    for (int i = first(); i < patch_.unknown_count; i += threads) {
      const std::int32_t at = position(i);
      u_[i] = v.u[at];
      p_[i] = v.p[at];
      s_[i] = v.s[at];
      x_[i] = v.x[at];
      r_[i] = v.r[at];
      w_[i] = T(0);
    }
  }

  /// Publishes the block's contributions to r'u and r'r. Ends with a barrier.
  __device__ void give_residual(std::uint64_t epoch) const {
    double sums[2] = {};
    for (int i = first(); i < patch_.own_count; i += threads) {
      const auto r = static_cast<double>(r_[i]);
      sums[0] += r * static_cast<double>(u_[i]);
      sums[1] += r * r;
    }
    sum_over_block<threads>(sums, of_warp_);
    if (threadIdx.x == 0) {
      publish(part(patch_ru, epoch), sums[0], epoch);
      publish(part(patch_rr, epoch), sums[1], epoch);
    }
  }

  /// Computes w = A u, and publishes the block's contribution to u'w.
  template <class Multiply>
  __device__ void multiply(const Multiply& multiply, std::uint64_t epoch) {
    multiply(patch_, u_, w_, scratch_);
    __syncthreads();
    const int mine = patch_.private_count;
    for (int i = mine + first(); i < patch_.unknown_count; i += threads)
      publish(loop_.contributions + contribution(i), w_[i], epoch);
    double sums[1] = {};
    for (int i = first(); i < mine; i += threads) sums[0] += energy_of_row(u_[i], w_[i]);
    for (int i = mine + first(); i < patch_.unknown_count; i += threads) {
      w_[i] = gathered(contribution(i), w_[i], epoch);
      if (i < patch_.own_count) sums[0] += energy_of_row(u_[i], w_[i]);
    }
    sum_over_block<threads>(sums, of_warp_);
    if (threadIdx.x == 0) publish(part(patch_uw, epoch), sums[0], epoch);
  }

  /// Sums `from`, ..., from + N - 1 over all blocks, known to all threads: a grid reduction.
  template <int N>
  __device__ void meet(int from, double (&sums)[N], std::uint64_t epoch) const {
    constexpr int together = 2;  // blocks whose sums are in flight at a time
#pragma unroll
    for (int n = 0; n < N; ++n) sums[n] = 0;
    for (unsigned first = threadIdx.x; first < gridDim.x; first += together * threads) {
      const auto at = [&](int k, int n) { return part(from + n, epoch) - blockIdx.x + first + k * threads; };
      Stamped<double> seen[together][N];
#pragma unroll
      for (int k = 0; k < together; ++k)
#pragma unroll
        for (int n = 0; n < N; ++n)
          if (first + k * threads < gridDim.x) seen[k][n] = poll(at(k, n));
#pragma unroll
      for (int k = 0; k < together; ++k)
#pragma unroll
        for (int n = 0; n < N; ++n)
          if (first + k * threads < gridDim.x) sums[n] += awaited(seen[k][n], at(k, n), epoch);
    }
    sum_over_block<threads>(sums, of_warp_);
  }

  __device__ void update(T alpha, T beta) {
    for (int i = first(); i < patch_.unknown_count; i += threads) {
      p_[i] = u_[i] + beta * p_[i];
      s_[i] = w_[i] + beta * s_[i];
      x_[i] += alpha * p_[i];
      r_[i] -= alpha * s_[i];
      u_[i] = v_.inverse_diagonal != nullptr ? __ldg(v_.inverse_diagonal + position(i)) * r_[i] : r_[i];
      w_[i] = T(0);
    }
  }

  __device__ void write_back() const {
    for (int i = first(); i < patch_.own_count; i += threads) {
      const std::int32_t at = position(i);
      v_.u[at] = u_[i];
      v_.p[at] = p_[i];
      v_.s[at] = s_[i];
      v_.x[at] = x_[i];
      v_.r[at] = r_[i];
    }
  }

  __device__ const CellPatch& patch() const { return patch_; }

 private:
  static __device__ int first() { return static_cast<int>(threadIdx.x); }
  /// Index of the contribution to the shared unknown at a local index.
  __device__ std::int64_t contribution(int place) const {
    return patch_.first_contribution + (place - patch_.private_count);
  }
  __device__ std::int32_t position(int place) const {
    return place < patch_.own_count ? patch_.first_own + place : __ldg(loop_.all.shared + contribution(place));
  }
  __device__ Stamped<double>* part(int sum, std::uint64_t epoch) const {
    return loop_.parts + (epoch % 2 * patch_sums + sum) * gridDim.x + blockIdx.x;
  }
  /// Polls until the value carries the epoch; `seen` is the last value polled.
  template <class Number>
  static __device__ Number awaited(Stamped<Number> seen, const Stamped<Number>* at, std::uint64_t epoch) {
    while (!has_epoch(seen, epoch)) seen = poll(at);
    return seen.value;
  }
  /// Sum of all patches' contributions to one shared unknown; `mine` is this patch's contribution, of value `value`.
  __device__ T gathered(std::int64_t mine, T value, std::uint64_t epoch) const {
    const std::int32_t r = __ldg(loop_.interface_of_shared + mine);
    const std::uint32_t end = __ldg(loop_.all.interface_offsets + r + 1);
    constexpr int together = 4;  // most patches that share a corner in a mesh of quadrilaterals
    T sum = 0;
    for (std::uint32_t first = __ldg(loop_.all.interface_offsets + r); first < end; first += together) {
      std::uint32_t of[together];
      Stamped<T> seen[together];
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (first + k >= end) continue;
        of[k] = __ldg(loop_.all.contributions + first + k);
        if (of[k] != mine) seen[k] = poll(loop_.contributions + of[k]);
      }
#pragma unroll
      for (int k = 0; k < together; ++k)
        if (first + k < end) sum += of[k] == mine ? value : awaited(seen[k], loop_.contributions + of[k], epoch);
    }
    return sum;
  }

  const PatchLoop<T>& loop_;
  const PersistentVectors<T>& v_;
  CellPatch patch_;
  double* of_warp_;
  T *u_, *w_, *scratch_, *p_, *s_, *x_, *r_;
};

/// Most patches per multiprocessor: with more, blocks wait for each other longer than launches take.
constexpr int most_persistent_patches = 4;

/// Runs iterations 1 to `iterations`; `scalars` as in PersistentCg. One block a patch.
template <class T, class Cells>
__global__ void __launch_bounds__(Cells::threads, std::min(Cells::blocks_per_multiprocessor, most_persistent_patches))
    persistent_patches_kernel(PatchLoop<T> loop, Cells cells, PersistentVectors<T> v, int iterations, double* scalars) {
  extern __shared__ __align__(16) double shared_memory[];
  __shared__ double of_warp[patch_sums * Cells::threads / threads_per_warp];
  PatchThread<T, Cells> thread(loop, v, reinterpret_cast<T*>(shared_memory), of_warp);
  const auto iterate = [&](const auto& multiply) {
    double old_rz = scalars[0], old_energy = scalars[2];
    const bool writes = blockIdx.x == 0 && threadIdx.x == 0;
    std::uint64_t epoch = loop.epoch + 1;
    for (int iteration = 1; iteration <= iterations; ++iteration, ++epoch) {
      thread.give_residual(epoch);
      thread.multiply(multiply, epoch);
      double sums[patch_sums];
      thread.meet(patch_uw, sums, epoch);
      const StepLengths lengths = step_lengths(old_rz, old_energy, sums[patch_ru], sums[patch_uw]);
      old_rz = sums[patch_ru];
      old_energy = lengths.energy;
      if (writes) {
        double* now = scalars + std::int64_t{CgScalars::count} * iteration;
        if (iteration > 1) {
          now[0] = old_rz;
          now[1] = sums[patch_rr];
        }
        now[2] = old_energy;
        now[3] = sums[patch_uw];
      }
      thread.update(static_cast<T>(lengths.alpha), static_cast<T>(lengths.beta));
    }
    thread.give_residual(epoch);
    double sums[2];
    thread.meet(patch_ru, sums, epoch);
    if (!writes) return;
    double* last = scalars + std::int64_t{CgScalars::count} * (iterations + 1);
    last[0] = sums[0];
    last[1] = sums[1];
  };
  with_ahead(cells, loop.all, thread.patch(), [&](const auto&... ahead) {  // the same factors in every iteration
    iterate(
        [&](const CellPatch& patch, const T* x, T* y, T* scratch) { cells(loop.all, patch, x, y, scratch, ahead...); });
  });
  thread.write_back();
}

template <std::floating_point T, class Cells>
class PersistentPatches final : public PersistentCg<T> {
 public:
  PersistentPatches(const PatchProduct<T, Cells>& product, Cells cells)
      : product_(product),
        cells_(std::move(cells)),
        interface_of_shared_(product.patches().interface_of_shared()),
        contributions_(zeros_on_gpu<Stamped<T>>(product.patches().contributions())),
        parts_(zeros_on_gpu<Stamped<double>>(2 * patch_sums * product.patches().patches())) {}

  /// True if all blocks are resident and not too many; to be asked before an object is made.
  static bool fits(const PatchProduct<T, Cells>& product) {
    const std::int64_t patches = product.patches().patches(), bytes = shared_bytes(product);
    return patches > 0 && patches <= most_persistent_patches * multiprocessors() &&
           bytes <= most_shared_bytes(kernel()) && patches <= prepare_patch_kernel(kernel(), Cells::threads, bytes);
  }

  void iterate(std::int64_t iterations, SingleReduction<T>& vectors, const InverseDiagonal* inverse_diagonal,
               Vector<T>& x, Vector<T>& r, Vector<double>& scalars) const override {
    const PatchLoop<T> loop{product_.patches().pointers(),
                            interface_of_shared_.data(),
                            static_cast<int>(product_.room()),
                            static_cast<int>(product_.scratch()),
                            contributions_.data(),
                            parts_.data(),
                            rounds_};
    launch_cooperative(
        kernel(), product_.patches().patches(), Cells::threads, static_cast<std::size_t>(shared_bytes(product_)), loop,
        cells_, persistent_vectors(vectors, inverse_diagonal, x, r), static_cast<int>(iterations), scalars.data());
    rounds_ += static_cast<std::uint64_t>(iterations) + 1;
  }

 private:
  static auto kernel() { return persistent_patches_kernel<T, Cells>; }
  static std::int64_t shared_bytes(const PatchProduct<T, Cells>& product) {
    return (6 * product.room() + product.scratch()) * static_cast<std::int64_t>(sizeof(T));
  }

  const PatchProduct<T, Cells>& product_;
  Cells cells_;
  Vector<std::int32_t> interface_of_shared_;
  mutable Vector<Stamped<T>> contributions_;
  mutable Vector<Stamped<double>> parts_;
  mutable std::uint64_t rounds_ = 0;  ///< epochs of all launches so far
};

/// The persistent kernel; null if there are too many patches, patches too large for shared memory, or unknowns without
/// a cell; and, for PersistentFor::faster, if patches share many unknowns. On an H100 an iteration takes 0.5 to 0.9 of
/// the time of launches with up to 300 contributions a patch, 0.9 to 1.2 with 400, and more beyond.
template <std::floating_point T, class Cells>
std::unique_ptr<PersistentCg<T>> make_persistent_patches(const PatchProduct<T, Cells>& product, Cells cells,
                                                         std::int64_t unknowns, PersistentFor systems) {
  constexpr std::int64_t most_contributions = 360;  // of a patch
  const CellPatchesOnGpu& patches = product.patches();
  if (systems == PersistentFor::faster && patches.contributions() > most_contributions * patches.patches())
    return nullptr;
  if (product.patches().own_unknowns() != unknowns || !PersistentPatches<T, Cells>::fits(product)) return nullptr;
  return std::make_unique<PersistentPatches<T, Cells>>(product, std::move(cells));
}

}  // namespace femcg::operators::cuda

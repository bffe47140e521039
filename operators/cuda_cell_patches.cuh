#pragma once

// y = sum over cells on the GPU, a thread block a patch (cell_patches.hpp). An operator writes what one block does with
// the cells of one patch, and leaves the rest to PatchProduct:
//
//   template <class T>
//   struct MyCells {                                      // plain data, an argument of the kernel
//     static constexpr int threads = 128;                 // a block; a multiple of 32
//     static constexpr int blocks_a_multiprocessor = 4;   // at least: bounds the registers
//     // Called by all threads of the block. x has the patch's part of x by place, x[unknown_count] = 0; y is zero, and
//     // to it, by place too, but never at unknown_count, y_e = K_e x_e is added. `scratch` is shared memory of the
//     size
//     // that PatchProduct was made with.
//     __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
//       for (int first = 0; first < patch.slots; first += threads) {        // a wave of cells, a thread each
//         const int slot = first + threadIdx.x;
//         T x_e[n] = {}, y_e[n] = {};
//         Places<n> places;
//         if (slot < patch.slots) { places.load(all, patch, slot); places.take(x, x_e); ... }
//         for_each_colour(all, patch, first, first + threads, slot, [&] { places.add(y_e, y, patch.unknown_count); });
//       }
//     }
//   };
//
// Cells may have a second function, `ahead(all, patch)`, which is called before x is there and whose result the first
// then gets as a last argument: for loads that should not wait for x.
//
//   PatchProduct<T, MyCells<T>> product(make_cell_patches(form, {...}), Races::gather);
//   product(cells, x, y, energy);
//
// Bytes that the patches add to what the cells read: 2 for each dof of a cell, 4 for each unknown of a patch, x and y
// once, and for each unknown of the rim 4 and its clearing (atomic, coloured), or twice the contributions and 4 more
// for each of them (gather).

#include <algorithm>

#include "operators/cell_patches.hpp"
#include "operators/cuda_sum.cuh"
#include "operators/races.hpp"

namespace femcg::operators::cuda {

/// CellPatches as plain pointers.
struct Patches {
  const CellPatch* patches;
  const std::int32_t* unknowns;
  const std::uint16_t* places;
  const std::uint8_t* colours;
  const std::int32_t* rim;
  const std::uint32_t* rim_offsets;
  const std::uint32_t* contributions;
};

/// A copy of what a product reads of CellPatches.
class CellPatchesOnGpu {
 public:
  explicit CellPatchesOnGpu(const CellPatches& from)
      : patches_(copied(from.patches, Device::cuda)),
        unknowns_(copied(from.unknowns, Device::cuda)),
        places_(copied(from.places, Device::cuda)),
        colours_(copied(from.colours, Device::cuda)),
        rim_(copied(from.rim, Device::cuda)),
        rim_offsets_(copied(from.rim_offsets, Device::cuda)),
        contributions_(copied(from.contributions, Device::cuda)) {}

  Patches pointers() const {
    return {patches_.data(), unknowns_.data(),    places_.data(),       colours_.data(),
            rim_.data(),     rim_offsets_.data(), contributions_.data()};
  }
  std::int64_t patches() const { return patches_.size(); }
  std::int64_t rim() const { return rim_.size(); }
  std::int64_t contributions() const { return contributions_.size(); }
  /// What every product reads, and what a gather reads besides.
  std::int64_t bytes() const {
    return patches_.bytes() + unknowns_.bytes() + places_.bytes() + colours_.bytes() + rim_.bytes();
  }
  std::int64_t gather_bytes() const { return rim_offsets_.bytes() + contributions_.bytes(); }

 private:
  Vector<CellPatch> patches_;
  Vector<std::int32_t> unknowns_;
  Vector<std::uint16_t> places_;
  Vector<std::uint8_t> colours_;
  Vector<std::int32_t> rim_;
  Vector<std::uint32_t> rim_offsets_, contributions_;
};

/// The places of the n dofs of one slot, of the interleaved layout: neighbouring threads read neighbouring words.
template <int n>
struct Places {
  std::uint32_t pairs[(n + 1) / 2];

  __device__ void load(const Patches& all, const CellPatch& patch, int slot) {
    constexpr int group = CellPatches::group, words = (n + 1) / 2;
    const auto* from = reinterpret_cast<const std::uint32_t*>(all.places) +
                       (patch.first_slot + slot) / group * (group * words) + slot % group;
#pragma unroll
    for (int pair = 0; pair < words; ++pair) pairs[pair] = __ldcs(from + pair * group);
  }
  __device__ int operator[](int dof) const { return static_cast<int>(pairs[dof / 2] >> dof % 2 * 16 & 0xffffU); }

  /// x_e = P_e x, and y += P_e' y_e without the constrained dofs.
  template <class T>
  __device__ void take(const T* x, T (&x_e)[n]) const {
#pragma unroll
    for (int a = 0; a < n; ++a) x_e[a] = x[(*this)[a]];
  }
  template <class T>
  __device__ void add(const T (&y_e)[n], T* y, int unknown_count) const {
#pragma unroll
    for (int a = 0; a < n; ++a)
      if (const int place = (*this)[a]; place < unknown_count) y[place] += y_e[a];
  }
};

/// Calls add() once in every thread whose cell, that of the slot `mine`, is one of the wave [first, last), cells of one
/// colour at a time, so that no two add to one unknown at once. All threads of the block call it with the same wave;
/// what was added is there for all of them afterwards.
template <class Add>
__device__ void for_each_colour(const Patches& all, const CellPatch& patch, int first, int last, int mine,
                                const Add& add) {
  const std::uint8_t* colours = all.colours + patch.first_slot;
  const int end = min(last, static_cast<int>(patch.cells));
  if (first >= end) return;
  const int my_colour = mine < end ? colours[mine] : -1, last_colour = colours[end - 1];
  for (int colour = colours[first]; colour <= last_colour; ++colour) {
    if (my_colour == colour) add();
    __syncthreads();
  }
}

/// How patches of different colours keep their order within one launch: each says when it is done, and adds to the rim
/// only after all that come before it. No two colours need a launch each, with a GPU that runs empty in between.
struct PatchOrder {
  const std::int32_t* patches;           ///< colour by colour
  const std::uint32_t* earlier_offsets;  ///< in `earlier`, of each of them
  const std::int32_t* earlier;           ///< patches that it waits for
  unsigned* done;                        ///< the last product that each patch has finished
  unsigned* product;                     ///< the number of the last product that all patches have finished
  unsigned* arrived;                     ///< blocks that have finished this one; zero between launches
};

/// Waits until all that come before the k-th patch are done. All threads of the block call it. It ends: a block goes
/// over its patches in their order, and all blocks are resident.
__device__ inline void wait_for_earlier(const PatchOrder& order, std::int64_t k, unsigned product) {
  for (std::uint32_t i = order.earlier_offsets[k] + threadIdx.x; i < order.earlier_offsets[k + 1]; i += blockDim.x) {
    const volatile unsigned* done = order.done + order.earlier[i];
    while (*done != product) {
    }
  }
  __threadfence();
  __syncthreads();
}

/// Tells those that wait for a patch that what it added is there. All threads of the block have passed a barrier.
__device__ inline void say_done(const PatchOrder& order, std::int32_t patch, unsigned product) {
  if (threadIdx.x != 0) return;
  __threadfence();
  *const_cast<volatile unsigned*>(order.done + patch) = product;
}

/// What a launch works on, and where it goes.
template <class T>
struct PatchWork {
  Patches all;
  PatchOrder order;    ///< with colours
  std::int64_t count;  ///< of the patches
  Races races;
  int room;  ///< numbers of shared memory for the patch's part of x, and for that of y
  const T* x;
  T* y;
  T* contributions;
  double* energy;  ///< null if not wanted
  Parts<1> parts;
};

/// x of a patch to shared memory, and zero to y. Several unknowns are in flight: x waits for their numbers.
template <int threads, class T>
__device__ void begin_patch(const PatchWork<T>& work, const CellPatch& patch, T* x, T* y) {
  constexpr int together = 8;
  const std::int32_t* unknowns = work.all.unknowns + patch.first_unknown;
  const int count = patch.unknown_count;
  for (int first = threadIdx.x; first < count; first += together * threads) {
    std::int32_t unknown[together];
    T value[together];
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (first + j * threads < count) unknown[j] = __ldg(unknowns + first + j * threads);
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (first + j * threads < count) value[j] = __ldg(work.x + unknown[j]);
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (first + j * threads < count) {
        x[first + j * threads] = value[j];
        y[first + j * threads] = T(0);
      }
  }
  if (threadIdx.x == 0) x[count] = T(0);
}

/// y of a patch from shared memory, and this thread's share of its x'y.
template <int threads, class T>
__device__ double end_patch(const PatchWork<T>& work, const CellPatch& patch, const T* x, const T* y) {
  const std::int32_t* unknowns = work.all.unknowns + patch.first_unknown;
  T* contributions = work.contributions + (patch.first_contribution - patch.private_count);
  double energy = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < patch.unknown_count; i += threads) {
    const T value = y[i];
    energy += static_cast<double>(x[i]) * static_cast<double>(value);
    T* at = work.y + __ldg(unknowns + i);
    if (i < patch.private_count)
      *at = value;
    else if (work.races == Races::gather)
      contributions[i] = value;
    else if (work.races == Races::atomic)
      atomicAdd(at, value);
    else
      *at = __ldcg(at) + value;  // another multiprocessor may have added to it
  }
  return energy;
}

/// A block a patch, then the next ones in strides of the grid.
template <class T, class Cells>
__global__ void __launch_bounds__(Cells::threads, Cells::blocks_a_multiprocessor)
    patch_kernel(PatchWork<T> work, Cells cells) {
  extern __shared__ double shared_memory[];
  T* x = reinterpret_cast<T*>(shared_memory);
  T* y = x + work.room;
  double energy = 0;
  const bool ordered = work.races == Races::coloured;
  const unsigned product = ordered ? *work.order.product + 1 : 0;
  for (std::int64_t k = blockIdx.x; k < work.count; k += gridDim.x) {
    const std::int64_t number = ordered ? work.order.patches[k] : k;
    const CellPatch patch = work.all.patches[number];
    if constexpr (requires { cells.ahead(work.all, patch); }) {
      const auto ahead = cells.ahead(work.all, patch);
      begin_patch<Cells::threads>(work, patch, x, y);
      __syncthreads();
      cells(work.all, patch, x, y, y + work.room, ahead);
    } else {
      begin_patch<Cells::threads>(work, patch, x, y);
      __syncthreads();
      cells(work.all, patch, x, y, y + work.room);
    }
    __syncthreads();
    if (ordered) wait_for_earlier(work.order, k, product);
    energy += end_patch<Cells::threads>(work, patch, x, y);
    __syncthreads();
    if (ordered) say_done(work.order, static_cast<std::int32_t>(number), product);
  }
  if (ordered && last_to_arrive(work.order.arrived, gridDim.x) && threadIdx.x == 0) *work.order.product = product;
  if (work.energy == nullptr) return;
  const double sums[1] = {energy};
  sum_of_grid(sums, work.parts, [&](const double(&results)[1]) { *work.energy = results[0]; });
}

template <class T>
__global__ void clear_rim_kernel(Patches all, std::int64_t rim, T* y) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < rim; r += stride)
    y[__ldcs(all.rim + r)] = T(0);
}

/// y on the rim: the patches' contributions to each unknown, in their order.
template <class T>
__global__ void gather_rim_kernel(Patches all, std::int64_t rim, const T* contributions, T* y) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < rim; r += stride) {
    T sum = 0;
    const std::uint32_t end = __ldg(all.rim_offsets + r + 1);
    for (std::uint32_t k = __ldg(all.rim_offsets + r); k < end; ++k)
      sum += __ldg(contributions + __ldcs(all.contributions + k));
    y[__ldcs(all.rim + r)] = sum;
  }
}

/// The launches of y = A x, and x'Ax. Races::coloured needs patches that are coloured.
template <class T, class Cells>
class PatchProduct {
 public:
  /// `scratch`: numbers of shared memory that the cells' work needs besides x and y.
  PatchProduct(const CellPatches& patches, Races races, std::int64_t scratch = 0)
      : patches_(patches),
        races_(races),
        room_((patches.most_unknowns + 1 + 3) / 4 * 4),
        shared_bytes_((2 * room_ + scratch) * static_cast<std::int64_t>(sizeof(T))),
        blocks_(prepared()),
        rim_blocks_(std::min((patches.rim.size() + rim_threads - 1) / rim_threads,
                             resident_blocks(clear_rim_kernel<T>, rim_threads))),
        contributions_(races == Races::gather ? patches.contributions.size() : 0, Device::cuda),
        parts_(blocks_) {
    if (races != Races::coloured) return;
    Vector<std::int32_t> coloured(patches.patches.size());
    std::copy(patches.colouring.parts.begin(), patches.colouring.parts.end(), coloured.data());
    coloured_ = copied(coloured, Device::cuda);
    earlier_offsets_ = copied(patches.earlier_offsets, Device::cuda);
    earlier_ = copied(patches.earlier, Device::cuda);
    done_ = Vector<unsigned>(patches.patches.size() + 2, Device::cuda);
    cuda_clear(done_.data(), done_.bytes());
  }

  const CellPatchesOnGpu& patches() const { return patches_; }
  Races races() const { return races_; }
  /// Held for the patches besides the cells' own data.
  std::int64_t bytes() const {
    return patches_.bytes() + patches_.gather_bytes() + contributions_.bytes() + order_bytes();
  }
  /// The least that a product moves besides the cells' own data: lists, x and y, and what the rim costs.
  std::int64_t moved_bytes(std::int64_t unknowns) const {
    const std::int64_t number = sizeof(T);
    const std::int64_t rim =
        races_ == Races::gather ? patches_.gather_bytes() + 2 * contributions_.bytes() : patches_.rim() * number;
    return patches_.bytes() + order_bytes() + 2 * unknowns * number + rim;
  }

  void operator()(const Cells& cells, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    PatchWork<T> work{patches_.pointers(),
                      order(),
                      patches_.patches(),
                      races_,
                      static_cast<int>(room_),
                      x.data(),
                      y.data(),
                      contributions_.data(),
                      energy != nullptr ? energy->data() : nullptr,
                      parts_.parts()};
    if (races_ != Races::gather)
      launch(clear_rim_kernel<T>, rim_blocks_, rim_threads, 0, work.all, patches_.rim(), y.data());
    const std::int64_t blocks = std::min(work.count, blocks_);
    if (races_ == Races::coloured)
      launch_resident(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work,
                      cells);
    else
      launch(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work, cells);
    if (races_ == Races::gather)
      launch(gather_rim_kernel<T>, rim_blocks_, rim_threads, 0, work.all, patches_.rim(), contributions_.data(),
             y.data());
  }

 private:
  static constexpr int rim_threads = 256;

  /// Blocks that the GPU holds at once, once the kernel may have all the shared memory there is: the attribute is the
  /// kernel's, which several products share.
  std::int64_t prepared() const {
    const auto kernel = patch_kernel<T, Cells>;
    int device = 0, most = 0;
    cudaFuncAttributes attributes{};
    check(cudaGetDevice(&device), "asking for the GPU");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "asking for shared memory");
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's shared memory");
    most -= static_cast<int>(attributes.sharedSizeBytes);
    if (shared_bytes_ > most) throw std::logic_error("a patch of cells does not fit into shared memory");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most), "asking for shared memory");
    return resident_blocks(kernel, Cells::threads, static_cast<std::size_t>(shared_bytes_));
  }

  std::int64_t order_bytes() const {
    return coloured_.bytes() + earlier_offsets_.bytes() + earlier_.bytes() + done_.bytes();
  }
  PatchOrder order() const {
    if (races_ != Races::coloured) return {};
    unsigned* done = done_.data();
    return {coloured_.data(),          earlier_offsets_.data(),      earlier_.data(), done,
            done + patches_.patches(), done + patches_.patches() + 1};
  }

  CellPatchesOnGpu patches_;
  Races races_;
  std::int64_t room_, shared_bytes_, blocks_, rim_blocks_;
  mutable Vector<T> contributions_;
  mutable PartsStorage<1> parts_;
  Vector<std::int32_t> coloured_, earlier_;  ///< see PatchOrder
  Vector<std::uint32_t> earlier_offsets_;
  mutable Vector<unsigned> done_;
};

}  // namespace femcg::operators::cuda

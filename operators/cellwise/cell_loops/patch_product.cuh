#pragma once

// y = sum over cells on the GPU, one thread block per patch (cell_patches.hpp). An operator provides the work of a
// block on the cells of one patch, and PatchProduct does the rest:
//
//   template <class T>
//   struct MyCells {                                      // plain data, an argument of the kernel
//     static constexpr int threads = 128;                 // a block; a multiple of 32
//     static constexpr int blocks_per_multiprocessor = 4;   // at least: bounds the registers
//     // Called by all threads of the block. x has the patch's part of x by local index, x[unknown_count] = 0; y_e =
//     // K_e x_e is added to y, zero at first, by local index too, but never at unknown_count. `scratch` is shared
//     // memory of PatchProduct's scratch size.
//     __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
//       wave_by_wave<threads, n>(all, patch, x, y, [&](std::int64_t slot, const T(&x_e)[n], T(&y_e)[n]) { ... });
//     }
//   };
//
// Cells may have a second function, `ahead(all, patch)`, called before x is there, whose result is passed to the first
// function as its last argument: for loads that should not wait for x (with_ahead).
//
//   PatchProduct<T, MyCells<T>> product(make_cell_patches(form, {...}), ConflictResolution::gather);
//   product(cells, x, y, energy);
//
// x and y have the unknowns in the order of the patches: the operator's ordering() is CellPatches::unknown_at.
//
// Bytes moved for the patches in addition to the cells' data: 2 per dof of a cell, x and y once, and per unknown of the
// interface 4 for each patch that has it, plus 4 and clearing it (atomic, coloured), or twice its contributions and 4
// for each of them (gather).

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/backend/cuda/product.cuh"
#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"

namespace femcg::operators::cuda {

/// Order of the patches of different colours within one launch: each block posts when it is done with a patch, and adds
/// to the interface only after all patches that come before. This saves one launch per colour, with an idle GPU in
/// between.
struct PatchOrder {
  const std::int32_t* patches;           ///< colour by colour
  const std::uint32_t* earlier_offsets;  ///< in `earlier`, of each of them
  const std::int32_t* earlier;           ///< patches that a patch waits for
  unsigned* done;                        ///< number of the last product that each patch has finished
  unsigned* product;                     ///< number of the last product that all patches have finished
  unsigned* arrived;                     ///< blocks that have finished the current product; zero between launches
};

/// Waits until all patches before the k-th one are done. Called by all threads of the block. Free of deadlocks, since a
/// block processes its patches in their order, and all blocks are resident.
__device__ inline void wait_for_earlier(const PatchOrder& order, std::int64_t k, unsigned product) {
  for (std::uint32_t i = order.earlier_offsets[k] + threadIdx.x; i < order.earlier_offsets[k + 1]; i += blockDim.x) {
    const volatile unsigned* done = order.done + order.earlier[i];
    while (*done != product) {
    }
  }
  __threadfence();
  __syncthreads();
}

/// Posts that a patch's additions are visible. All threads of the block must have passed a barrier.
__device__ inline void say_done(const PatchOrder& order, std::int32_t patch, unsigned product) {
  if (threadIdx.x != 0) return;
  __threadfence();
  *const_cast<volatile unsigned*>(order.done + patch) = product;
}

/// Arguments of a launch: input and output.
template <class T>
struct PatchWork {
  Patches all;
  PatchOrder order;    ///< for coloured patches
  std::int64_t count;  ///< of the patches
  ConflictResolution resolution;
  int room;  ///< values of shared memory for the patch's part of x, and for that of y
  const T* x;
  T* y;
  T* contributions;
  double* energy;  ///< null if not needed
  Parts<1> parts;
};

/// Indices of shared unknowns that a thread prefetches at a time: 2 unless the cells define another number.
template <class Cells>
__host__ __device__ constexpr int shared_ahead() {
  if constexpr (requires { Cells::shared_ahead; })
    return Cells::shared_ahead;
  else
    return 2;
}

/// Copies x of a patch to shared memory asynchronously, and sets y to zero. Indices of shared unknowns, on which loads
/// of their x depend, are in flight while private unknowns are copied.
template <int threads, int ahead, class T>
__device__ void begin_patch(const PatchWork<T>& work, const CellPatch& patch, T* x, T* y) {
  const int own = patch.private_count, end = patch.unknown_count, mine = static_cast<int>(threadIdx.x);
  const std::int32_t* shared = work.all.shared + (patch.first_contribution - own);
  const T* x_own = work.x + patch.first_own;
  std::int32_t number[ahead];
#pragma unroll
  for (int j = 0; j < ahead; ++j)
    if (own + mine + j * threads < end) number[j] = __ldg(shared + own + mine + j * threads);
#pragma unroll 8
  for (int place = mine; place < own; place += threads) __pipeline_memcpy_async(x + place, x_own + place, sizeof(T));
#pragma unroll
  for (int j = 0; j < ahead; ++j)
    if (const int place = own + mine + j * threads; place < end)
      __pipeline_memcpy_async(x + place, work.x + number[j], sizeof(T));
  for (int place = own + mine + ahead * threads; place < end; place += threads)
    __pipeline_memcpy_async(x + place, work.x + __ldg(shared + place), sizeof(T));
  __pipeline_commit();
#pragma unroll 8
  for (int place = mine; place < end; place += threads) y[place] = T(0);
  if (mine == 0) x[end] = T(0);
  __pipeline_wait_prior(0);
}

/// Writes y of a patch from shared memory; returns this thread's contribution to x'y.
template <int threads, class T>
__device__ double end_patch(const PatchWork<T>& work, const CellPatch& patch, const T* x, const T* y) {
  const int own = patch.private_count;
  const std::int32_t* shared = work.all.shared + (patch.first_contribution - own);
  T* contributions = work.contributions + (patch.first_contribution - own);
  double energy = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < own; i += threads) {
    energy += energy_of_row(x[i], y[i]);
    work.y[patch.first_own + i] = y[i];
  }
#pragma unroll 2
  for (int i = own + static_cast<int>(threadIdx.x); i < patch.unknown_count; i += threads) {
    const T value = y[i];
    energy += energy_of_row(x[i], value);
    if (work.resolution == ConflictResolution::gather) {
      contributions[i] = value;
      continue;
    }
    T* at = work.y + __ldg(shared + i);
    if (work.resolution == ConflictResolution::atomic)
      atomicAdd(at, value);
    else
      *at = __ldcg(at) + value;  // another multiprocessor may have added to it
  }
  return energy;
}

/// One block a patch, in a grid-stride loop.
template <class T, class Cells>
__global__ void __launch_bounds__(Cells::threads, Cells::blocks_per_multiprocessor)
    patch_kernel(PatchWork<T> work, Cells cells) {
  extern __shared__ __align__(16) double shared_memory[];
  T* x = reinterpret_cast<T*>(shared_memory);
  T* y = x + work.room;
  double energy = 0;
  const bool ordered = work.resolution == ConflictResolution::coloured;
  const unsigned product = ordered ? *work.order.product + 1 : 0;
  for (std::int64_t k = blockIdx.x; k < work.count; k += gridDim.x) {
    const std::int64_t number = ordered ? work.order.patches[k] : k;
    const CellPatch patch = work.all.patches[number];
    with_ahead(cells, work.all, patch, [&](const auto&... ahead) {
      if (k == blockIdx.x) await_previous();
      begin_patch<Cells::threads, shared_ahead<Cells>()>(work, patch, x, y);
      __syncthreads();
      cells(work.all, patch, x, y, y + work.room, ahead...);
    });
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

/// Most dynamic shared memory in bytes that a block of a kernel may ask for.
template <class Kernel>
std::int64_t most_shared_bytes(Kernel kernel) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's shared memory");
  return shared_bytes_of_block() - static_cast<std::int64_t>(attributes.sharedSizeBytes);
}

/// Allows a kernel all shared memory (the attribute is the kernel's, which several products share), and returns the
/// number of its blocks that are resident with `shared_bytes` each.
template <class Kernel>
std::int64_t prepare_patch_kernel(Kernel kernel, int threads, std::int64_t shared_bytes) {
  const std::int64_t most = most_shared_bytes(kernel);
  if (shared_bytes > most) throw std::logic_error("a patch of cells does not fit into shared memory");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)),
        "asking for shared memory");
  return resident_blocks(kernel, threads, static_cast<std::size_t>(shared_bytes));
}

template <class T>
__global__ void clear_interface_kernel(Patches all, std::int64_t interface, T* y) {
  await_previous();
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t r = cuda::thread_number(); r < interface; r += stride) y[__ldcs(all.interface + r)] = T(0);
}

/// y on the interface: adds up the patches' contributions to each unknown, in their order. One thread an unknown.
template <class T>
__global__ void gather_interface_kernel(Patches all, std::int64_t interface, const T* contributions, T* y) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t r = cuda::thread_number();
  // Contributions depend on indices, indices on offsets: loads for three iterations are in flight together. The first
  // ones do not wait for the previous kernel, which has the patches' products.
  InterfaceUnknown now(all, r, interface);
  InterfaceOffsets following(all, r + stride, interface);
  await_previous();
  for (; r < interface; r += stride) {
    T two[2];
    now.load_two(contributions, two);
    const InterfaceUnknown next(all, following);
    following = InterfaceOffsets(all, r + 2 * stride, interface);
    y[now.position] = now.gathered(all, contributions, two);
    now = next;
  }
}

/// Launches of y = A x and x'Ax. ConflictResolution::coloured needs coloured patches.
template <class T, class Cells>
class PatchProduct {
 public:
  /// `scratch`: values of shared memory for the cells' work besides x and y.
  PatchProduct(const CellPatches& patches, ConflictResolution resolution, std::int64_t scratch = 0)
      : PatchProduct(std::make_shared<const CellPatchesOnGpu>(patches), resolution, scratch) {
    if (resolution != ConflictResolution::coloured) return;
    Vector<std::int32_t> coloured(patches.patches.size());
    std::copy(patches.colouring.parts.begin(), patches.colouring.parts.end(), coloured.data());
    coloured_ = copied(coloured, Device::cuda);
    earlier_offsets_ = copied(patches.earlier_offsets, Device::cuda);
    earlier_ = copied(patches.earlier, Device::cuda);
    done_ = zeros_on_gpu<unsigned>(patches.patches.size() + 2);
  }
  /// Shares the patches, which have no colours, with another product.
  PatchProduct(std::shared_ptr<const CellPatchesOnGpu> patches, ConflictResolution resolution, std::int64_t scratch)
      : patches_(std::move(patches)),
        resolution_(resolution),
        room_((patches_->most_unknowns() + 1 + 3) / 4 * 4),
        scratch_(scratch),
        shared_bytes_((2 * room_ + scratch + 3) / 4 * 4 * static_cast<std::int64_t>(sizeof(T))),  // per block
        blocks_(prepare_patch_kernel(patch_kernel<T, Cells>, Cells::threads, shared_bytes_)),
        interface_blocks_(std::min((patches_->interface() + interface_threads - 1) / interface_threads,
                                   // More than are resident: blocks that start as others end are faster.
                                   2 * resident_blocks(clear_interface_kernel<T>, interface_threads))),
        contributions_(resolution == ConflictResolution::gather ? patches_->contributions() : 0, Device::cuda),
        parts_(blocks_) {}

  const CellPatchesOnGpu& patches() const { return *patches_; }
  const std::shared_ptr<const CellPatchesOnGpu>& shared_patches() const { return patches_; }
  ConflictResolution resolution() const { return resolution_; }
  /// Values of shared memory for a patch's part of a vector, and for the cells' work.
  std::int64_t room() const { return room_; }
  std::int64_t scratch() const { return scratch_; }
  /// Bytes held for the patches besides the cells' data.
  std::int64_t bytes() const { return patches_->bytes() + patches_->gather_bytes() + own_bytes(); }
  /// The same without the shared patches.
  std::int64_t own_bytes() const { return contributions_.bytes() + order_bytes(); }
  /// Lower bound of the bytes that a product moves besides the cells' data: lists, x and y, and the interface.
  std::int64_t moved_bytes(std::int64_t unknowns) const {
    const std::int64_t number = sizeof(T);
    const std::int64_t interface = resolution_ == ConflictResolution::gather
                                       ? patches_->gather_bytes() + 2 * contributions_.bytes()
                                       : patches_->interface() * number;
    return patches_->bytes() + order_bytes() + 2 * unknowns * number + interface;
  }

  void operator()(const Cells& cells, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    PatchWork<T> work{patches_->pointers(),
                      order(),
                      patches_->patches(),
                      resolution_,
                      static_cast<int>(room_),
                      x.data(),
                      y.data(),
                      contributions_.data(),
                      energy != nullptr ? energy->data() : nullptr,
                      parts_.parts()};
    if (resolution_ != ConflictResolution::gather)
      launch_early(clear_interface_kernel<T>, interface_blocks_, interface_threads, 0, work.all, patches_->interface(),
                   y.data());
    const std::int64_t blocks = std::min(work.count, blocks_);
    if (resolution_ == ConflictResolution::coloured)
      launch_cooperative(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work,
                         cells);
    else
      launch_early(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work,
                   cells);
    if (resolution_ == ConflictResolution::gather)
      launch_early(gather_interface_kernel<T>, interface_blocks_, interface_threads, 0, work.all, patches_->interface(),
                   contributions_.data(), y.data());
  }

 private:
  static constexpr int interface_threads = 256;

  std::int64_t order_bytes() const {
    return coloured_.bytes() + earlier_offsets_.bytes() + earlier_.bytes() + done_.bytes();
  }
  PatchOrder order() const {
    if (resolution_ != ConflictResolution::coloured) return {};
    unsigned* done = done_.data();
    return {coloured_.data(),           earlier_offsets_.data(),       earlier_.data(), done,
            done + patches_->patches(), done + patches_->patches() + 1};
  }

  std::shared_ptr<const CellPatchesOnGpu> patches_;
  ConflictResolution resolution_;
  std::int64_t room_, scratch_, shared_bytes_, blocks_, interface_blocks_;
  mutable Vector<T> contributions_;
  mutable PartsStorage<1> parts_;
  Vector<std::int32_t> coloured_, earlier_;  ///< see PatchOrder
  Vector<std::uint32_t> earlier_offsets_;
  mutable Vector<unsigned> done_;
};

}  // namespace femcg::operators::cuda

#pragma once

// y = sum over cells on the GPU, a thread block per patch (cell_patches.hpp). An operator writes what one block does
// with the cells of one patch, and leaves the rest to PatchProduct:
//
//   template <class T>
//   struct MyCells {                                      // plain data, an argument of the kernel
//     static constexpr int threads = 128;                 // a block; a multiple of 32
//     static constexpr int blocks_per_multiprocessor = 4;   // at least: bounds the registers
//     // Called by all threads of the block. x has the patch's part of x by place, x[unknown_count] = 0; y is zero, and
//     // to it, by place too, but never at unknown_count, y_e = K_e x_e is added. `scratch` is shared memory of the
//     // size that PatchProduct was made with.
//     __device__ void operator()(const Patches& all, const CellPatch& patch, const T* x, T* y, T* scratch) const {
//       wave_by_wave<threads, n>(all, patch, x, y, [&](std::int64_t slot, const T(&x_e)[n], T(&y_e)[n]) { ... });
//     }
//   };
//
// Cells may have a second function, `ahead(all, patch)`, which is called before x is there and whose result the first
// then gets as a last argument: for loads that should not wait for x (with_ahead).
//
//   PatchProduct<T, MyCells<T>> product(make_cell_patches(form, {...}), ConflictResolution::gather);
//   product(cells, x, y, energy);
//
// For several vectors a block has the threads of several blocks, threadIdx.y being the vector: as many vectors are
// under way as there would be blocks for one, and what the cells read is read once for all that a block has. With more
// vectors it takes the next ones before it goes on to its next patch.
//
// x and y have the unknowns in the patches' order: the operator's ordering() is CellPatches::unknown_at.
//
// Bytes that the patches add to what the cells read: 2 for each dof of a cell, x and y once, and for each unknown
// of the interface 4 for each patch that has it, 4 and its clearing (atomic, coloured), or twice the contributions and
// 4 more for each of them (gather).

#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "operators/backend/cuda/column_sums.cuh"
#include "operators/backend/cuda/product.cuh"
#include "operators/cellwise/cell_loops/cell_patches.cuh"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"

namespace femcg::operators::cuda {

/// How patches of different colours keep their order within one launch: each says when it is done, and adds to the
/// interface only after all that come before it. No two colours need a launch each, with a GPU that runs empty in
/// between.
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
  if (thread_of_block() != 0) return;
  __threadfence();
  *const_cast<volatile unsigned*>(order.done + patch) = product;
}

/// What a launch works on, and where it goes.
template <class T>
struct PatchWork {
  Patches all;
  PatchOrder order;    ///< with colours
  std::int64_t count;  ///< of the patches
  ConflictResolution resolution;
  int room;  ///< numbers of shared memory for the patch's part of x, and for that of y
  const T* x;
  T* y;
  T* contributions;
  double* energy;  ///< null if not wanted
  Parts<1> parts;
};

/// Of the numbers of a patch's shared unknowns, how many a thread has under way together, unless the cells say.
template <class Cells>
__host__ __device__ constexpr int shared_ahead() {
  if constexpr (requires { Cells::shared_ahead; })
    return Cells::shared_ahead;
  else
    return 2;
}

/// x of a patch to shared memory, past the registers, and zero to y. The numbers of the unknowns that are shared, for
/// which their x has to wait, are under way while the private ones are.
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

/// y of a patch from shared memory, and this thread's share of its x'y.
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

/// A block per patch, then the next ones in strides of the grid.
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

/// Several vectors, of which a block has as many at once as its threads have rows; energies are null if not wanted.
struct PatchColumns {
  int count, stride;
  double* energies;
  ColumnParts parts;
};

/// The vectors that a block may have at once, unless the cells say: a sector of memory in double precision, or two
/// where the registers of four rows of threads would be fewer than those of one.
template <class Cells>
constexpr int most_columns_at_once = [] {
  if constexpr (requires { Cells::columns_at_once; })
    return Cells::columns_at_once;
  else
    return Cells::blocks_per_multiprocessor < 4 ? 2 : 4;
}();

/// body(place, c, entry) for the unknowns of a patch at the places [first, last) and `count` vectors from `column` on,
/// where at(place) is the number of an unknown, and `entry` that of its number for the vector: neighbouring threads
/// have neighbouring vectors of an unknown, which lie side by side.
template <int threads, class At, class Body>
__device__ void for_entries(int first, int last, const PatchColumns& columns, int column, int count, const At& at,
                            const Body& body) {
  const int at_once = static_cast<int>(blockDim.y);
  const int mine = thread_of_block(), c = mine & (at_once - 1);
  if (c >= count) return;
#pragma unroll 4
  for (int place = first + (mine >> (__ffs(at_once) - 1)); place < last; place += threads)
    body(place, c, static_cast<std::int64_t>(at(place)) * columns.stride + column + c);
}

/// As begin_patch, for `count` vectors from `column` on: x and y of each in a part of shared memory of its own, of
/// which `step` numbers lie between two.
template <int threads, class T>
__device__ void begin_patch_columns(const PatchWork<T>& work, const CellPatch& patch, const PatchColumns& columns,
                                    int column, int count, int step, T* x, T* y) {
  const int own = patch.private_count, end = patch.unknown_count;
  const std::int32_t* shared = work.all.shared + (patch.first_contribution - own);
  const auto take = [&](int place, int c, std::int64_t entry) {
    __pipeline_memcpy_async(x + c * step + place, work.x + entry, sizeof(T));
  };
  for_entries<threads>(
      0, own, columns, column, count, [&](int place) { return patch.first_own + place; }, take);
  for_entries<threads>(
      own, end, columns, column, count, [&](int place) { return __ldg(shared + place); }, take);
  __pipeline_commit();
  x += static_cast<int>(threadIdx.y) * step;
  y += static_cast<int>(threadIdx.y) * step;
#pragma unroll 4
  for (int place = static_cast<int>(threadIdx.x); place < end; place += threads) y[place] = T(0);
  if (threadIdx.x == 0) x[end] = T(0);
  __pipeline_wait_prior(0);
}

/// As end_patch: this thread's share of x'y of the vector column + thread_of_block() % blockDim.y.
template <int threads, class T>
__device__ double end_patch_columns(const PatchWork<T>& work, const CellPatch& patch, const PatchColumns& columns,
                                    int column, int count, int step, const T* x, const T* y) {
  const int own = patch.private_count;
  const std::int32_t* shared = work.all.shared + (patch.first_contribution - own);
  const std::int64_t contribution = patch.first_contribution - own;
  double energy = 0;
  const auto value_at = [&](int place, int c) {
    const T value = y[c * step + place];
    energy += energy_of_row(x[c * step + place], value);
    return value;
  };
  for_entries<threads>(
      0, own, columns, column, count, [&](int place) { return patch.first_own + place; },
      [&](int place, int c, std::int64_t entry) { work.y[entry] = value_at(place, c); });
  if (work.resolution == ConflictResolution::gather) {
    for_entries<threads>(
        own, patch.unknown_count, columns, column, count, [&](int place) { return contribution + place; },
        [&](int place, int c, std::int64_t entry) { work.contributions[entry] = value_at(place, c); });
    return energy;
  }
  for_entries<threads>(
      own, patch.unknown_count, columns, column, count, [&](int place) { return __ldg(shared + place); },
      [&](int place, int c, std::int64_t entry) {
        const T value = value_at(place, c);
        if (work.resolution == ConflictResolution::atomic)
          atomicAdd(work.y + entry, value);
        else
          work.y[entry] = __ldcg(work.y + entry) + value;
      });
  return energy;
}

/// The same for several vectors, in `step` numbers of shared memory each. Warps keep what they have of each energy.
template <class T, class Cells>
__global__ void __launch_bounds__(Cells::threads* most_columns_at_once<Cells>,
                                  std::max(1, Cells::blocks_per_multiprocessor / most_columns_at_once<Cells>))
    patch_columns_kernel(PatchWork<T> work, Cells cells, PatchColumns columns, int step) {
  extern __shared__ __align__(16) double shared_memory[];
  constexpr int most_warps = Cells::threads / threads_per_warp * most_columns_at_once<Cells>;
  static_assert(most_warps <= most_warps_of_sums);
  __shared__ double energies[most_warps * Columns<T>::most];
  const int mine = thread_of_block(), at_once = static_cast<int>(blockDim.y), lane = mine % threads_per_warp;
  double* of_warp = energies + mine / threads_per_warp * columns.stride;
  for (int c = lane; c < columns.stride; c += threads_per_warp) of_warp[c] = 0;
  T* x = reinterpret_cast<T*>(shared_memory);
  T* y = x + work.room;
  T* x_mine = x + static_cast<int>(threadIdx.y) * step;
  const bool ordered = work.resolution == ConflictResolution::coloured;
  const unsigned product = ordered ? *work.order.product + 1 : 0;
  await_previous();
  for (std::int64_t k = blockIdx.x; k < work.count; k += gridDim.x) {
    const std::int64_t number = ordered ? work.order.patches[k] : k;
    const CellPatch patch = work.all.patches[number];
    for (int column = 0; column < columns.count; column += at_once) {
      const int count = min(at_once, columns.count - column);
      with_ahead(cells, work.all, patch, [&](const auto&... ahead) {
        begin_patch_columns<Cells::threads>(work, patch, columns, column, count, step, x, y);
        __syncthreads();
        // Beyond the last vector, too, there is something to multiply, which nobody takes: all meet at the barriers.
        cells(work.all, patch, x_mine, x_mine + work.room, x_mine + 2 * work.room, ahead...);
      });
      __syncthreads();
      if (ordered && column == 0) wait_for_earlier(work.order, k, product);
      double energy = end_patch_columns<Cells::threads>(work, patch, columns, column, count, step, x, y);
      for (int distance = threads_per_warp / 2; distance >= at_once; distance /= 2)
        energy += __shfl_xor_sync(all_lanes, energy, distance);
      if (lane < count) of_warp[column + lane] += energy;
      __syncthreads();
    }
    if (ordered) say_done(work.order, static_cast<std::int32_t>(number), product);
  }
  if (ordered && last_to_arrive(work.order.arrived, gridDim.x, mine == 0) && mine == 0) *work.order.product = product;
  if (columns.energies == nullptr) return;
  sum_warps_of_grid(
      energies, columns.stride, columns.parts, [&](int c, double sum) { columns.energies[c] = sum; }, mine,
      threads_of_block());
}

/// The shared memory that a block of a kernel may ask for.
template <class Kernel>
std::int64_t most_shared_bytes(Kernel kernel) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's shared memory");
  return shared_bytes_of_block() - static_cast<std::int64_t>(attributes.sharedSizeBytes);
}

/// Lets a kernel have all the shared memory there is (the attribute is the kernel's, which several products share), and
/// returns how many of its blocks the GPU holds at once with `shared_bytes` each.
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
  for (std::int64_t r = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; r < interface; r += stride)
    y[__ldcs(all.interface + r)] = T(0);
}

/// y on the interface: the patches' contributions to each unknown, in their order.
template <class T>
__global__ void gather_interface_kernel(Patches all, std::int64_t interface, const T* contributions, T* y) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t r = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // Offsets, numbers and contributions wait for each other: those of three turns are under way together. The first
  // lists are so while the patches are still at work.
  InterfaceUnknown now(all, r, interface);
  RimOffsets following(all, r + stride, interface);
  await_previous();
  for (; r < interface; r += stride) {
    T two[2];
    now.load_two(contributions, 1, two);
    const InterfaceUnknown next(all, following);
    following = RimOffsets(all, r + 2 * stride, interface);
    y[now.position] = now.gathered(all, contributions, 1, two);
    now = next;
  }
}

/// Both for several vectors: a thread per unknown of the interface and vector.
template <class T>
__global__ void clear_interface_columns_kernel(Patches all, std::int64_t interface, int stride, T* y) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < interface * stride; i += threads)
    y[std::int64_t{all.interface[i / stride]} * stride + i % stride] = T(0);
}
template <class T>
__global__ void gather_interface_columns_kernel(Patches all, std::int64_t interface, int count, int stride,
                                                const T* contributions, T* y) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < interface * stride; i += threads) {
    if (i % stride >= count) continue;  // nobody has contributed to it
    const InterfaceUnknown at(all, i / stride, interface);
    T two[2];
    at.load_two(contributions + i % stride, stride, two);
    y[std::int64_t{at.position} * stride + i % stride] = at.gathered(all, contributions + i % stride, stride, two);
  }
}

/// The launches of y = A x, and x'Ax. ConflictResolution::coloured needs patches that are coloured.
template <class T, class Cells>
class PatchProduct {
 public:
  /// `scratch`: numbers of shared memory that the cells' work needs besides x and y.
  PatchProduct(const CellPatches& patches, ConflictResolution resolution, std::int64_t scratch = 0)
      : patches_(patches),
        resolution_(resolution),
        room_((patches.most_unknowns + 1 + 3) / 4 * 4),
        scratch_(scratch),
        shared_bytes_(column_bytes()),  // of a block
        blocks_(prepare_patch_kernel(patch_kernel<T, Cells>, Cells::threads, shared_bytes_)),
        interface_blocks_(std::min((patches.interface.size() + interface_threads - 1) / interface_threads,
                                   // More than are resident: some that come as others go are faster.
                                   2 * resident_blocks(clear_interface_kernel<T>, interface_threads))),
        contributions_(resolution == ConflictResolution::gather ? patches.contributions.size() : 0, Device::cuda),
        parts_(blocks_) {
    if (resolution != ConflictResolution::coloured) return;
    Vector<std::int32_t> coloured(patches.patches.size());
    std::copy(patches.colouring.parts.begin(), patches.colouring.parts.end(), coloured.data());
    coloured_ = copied(coloured, Device::cuda);
    earlier_offsets_ = copied(patches.earlier_offsets, Device::cuda);
    earlier_ = copied(patches.earlier, Device::cuda);
    done_ = zeros_on_gpu<unsigned>(patches.patches.size() + 2);
  }

  const CellPatchesOnGpu& patches() const { return patches_; }
  ConflictResolution resolution() const { return resolution_; }
  /// Numbers of shared memory for a patch's part of a vector, and for the cells' work.
  std::int64_t room() const { return room_; }
  std::int64_t scratch() const { return scratch_; }
  /// Held for the patches besides the cells' own data.
  std::int64_t bytes() const {
    return patches_.bytes() + patches_.gather_bytes() + contributions_.bytes() + order_bytes();
  }
  /// The least that a product moves besides the cells' own data: lists, x and y, and what the interface costs.
  std::int64_t moved_bytes(std::int64_t unknowns) const {
    const std::int64_t number = sizeof(T);
    const std::int64_t interface = resolution_ == ConflictResolution::gather
                                       ? patches_.gather_bytes() + 2 * contributions_.bytes()
                                       : patches_.interface() * number;
    return patches_.bytes() + order_bytes() + 2 * unknowns * number + interface;
  }

  void operator()(const Cells& cells, const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    PatchWork<T> work{patches_.pointers(),
                      order(),
                      patches_.patches(),
                      resolution_,
                      static_cast<int>(room_),
                      x.data(),
                      y.data(),
                      contributions_.data(),
                      energy != nullptr ? energy->data() : nullptr,
                      parts_.parts()};
    if (resolution_ != ConflictResolution::gather)
      launch_early(clear_interface_kernel<T>, interface_blocks_, interface_threads, 0, work.all, patches_.interface(),
                   y.data());
    const std::int64_t blocks = std::min(work.count, blocks_);
    if (resolution_ == ConflictResolution::coloured)
      launch_cooperative(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work,
                         cells);
    else
      launch_early(patch_kernel<T, Cells>, blocks, Cells::threads, static_cast<std::size_t>(shared_bytes_), work,
                   cells);
    if (resolution_ == ConflictResolution::gather)
      launch_early(gather_interface_kernel<T>, interface_blocks_, interface_threads, 0, work.all, patches_.interface(),
                   contributions_.data(), y.data());
  }

  /// Y = A X. What several vectors need is made with the first such product, which must not be a recorded one.
  void operator()(const Cells& cells, const Columns<T>& x, Columns<T>& y, double* energies) const {
    const bool gathers = resolution_ == ConflictResolution::gather;
    if (x.stride() > columns_stride_) {
      columns_stride_ = x.stride();
      prepare_columns(x.stride());
      columns_parts_ = ColumnPartsStorage(columns_blocks_, x.stride());
      if (gathers) column_contributions_ = Vector<T>(contributions_.size() * x.stride(), Device::cuda);
    }
    const PatchWork<T> work{patches_.pointers(),
                            order(),
                            patches_.patches(),
                            resolution_,
                            static_cast<int>(room_),
                            x.data(),
                            y.data(),
                            column_contributions_.data(),
                            nullptr,
                            parts_.parts()};
    const PatchColumns columns{x.count(), x.stride(), energies, columns_parts_.parts()};
    const BlockShape shape(Cells::threads, columns_at_once_);
    const auto shared = static_cast<std::size_t>(columns_at_once_ * column_bytes());
    const int step = static_cast<int>(column_numbers());
    const std::int64_t interface = patches_.interface(), interface_columns = interface * x.stride();
    const std::int64_t interface_blocks = (interface_columns + interface_threads - 1) / interface_threads;
    if (!gathers)
      launch(clear_interface_columns_kernel<T>, interface_blocks, interface_threads, 0, work.all, interface, x.stride(),
             y.data());
    const std::int64_t blocks = std::min(work.count, columns_blocks_);
    if (resolution_ == ConflictResolution::coloured)
      launch_cooperative(patch_columns_kernel<T, Cells>, blocks, shape, shared, work, cells, columns, step);
    else
      launch(patch_columns_kernel<T, Cells>, blocks, shape, shared, work, cells, columns, step);
    if (gathers)
      launch(gather_interface_columns_kernel<T>, interface_blocks, interface_threads, 0, work.all, interface, x.count(),
             x.stride(), column_contributions_.data(), y.data());
  }

 private:
  static constexpr int interface_threads = 256;

  /// Of shared memory for a vector: its parts of x and y, and the cells' work; aligned as the first is.
  std::int64_t column_numbers() const { return (2 * room_ + scratch_ + 3) / 4 * 4; }
  std::int64_t column_bytes() const { return column_numbers() * static_cast<std::int64_t>(sizeof(T)); }
  /// As many vectors a block as there can be, unless a multiprocessor then has less than three quarters of the vectors
  /// under way that it has with fewer.
  void prepare_columns(int stride) const {
    std::int64_t most = 0;
    const std::int64_t shared = most_shared_bytes(patch_columns_kernel<T, Cells>);
    for (int at_once = 1; at_once <= std::min(stride, most_columns_at_once<Cells>); at_once *= 2) {
      if (at_once > 1 && at_once * column_bytes() > shared) break;
      const std::int64_t blocks =
          prepare_patch_kernel(patch_columns_kernel<T, Cells>, at_once * Cells::threads, at_once * column_bytes());
      if (4 * at_once * blocks < 3 * most) continue;
      most = std::max(most, at_once * blocks);
      columns_at_once_ = at_once;
      columns_blocks_ = blocks;
    }
  }
  std::int64_t order_bytes() const {
    return coloured_.bytes() + earlier_offsets_.bytes() + earlier_.bytes() + done_.bytes();
  }
  PatchOrder order() const {
    if (resolution_ != ConflictResolution::coloured) return {};
    unsigned* done = done_.data();
    return {coloured_.data(),          earlier_offsets_.data(),      earlier_.data(), done,
            done + patches_.patches(), done + patches_.patches() + 1};
  }

  CellPatchesOnGpu patches_;
  ConflictResolution resolution_;
  std::int64_t room_, scratch_, shared_bytes_, blocks_, interface_blocks_;
  mutable Vector<T> contributions_;
  mutable PartsStorage<1> parts_;
  Vector<std::int32_t> coloured_, earlier_;  ///< see PatchOrder
  Vector<std::uint32_t> earlier_offsets_;
  mutable Vector<unsigned> done_;
  mutable int columns_stride_ = 0;  ///< the widest so far
  mutable int columns_at_once_ = 1;
  mutable std::int64_t columns_blocks_ = 0;
  mutable ColumnPartsStorage columns_parts_;
  mutable Vector<T> column_contributions_;
};

}  // namespace femcg::operators::cuda

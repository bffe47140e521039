#pragma once

// Access to patches of cells (cell_patches.hpp) for the threads of a GPU.

#include <algorithm>

#include "operators/backend/launch.cuh"
#include "operators/cellwise/cell_loops/cell_patches.hpp"

namespace femcg::operators::cuda {

/// CellPatches as plain pointers.
struct Patches {
  const CellPatch* patches;
  const std::int32_t* shared;
  const std::uint16_t* local_indices;
  const std::uint8_t* colours;
  const std::int32_t* interface;
  const std::uint32_t* interface_offsets;
  const std::uint32_t* contributions;
};

/// The lists of CellPatches that a product reads, on the GPU.
class CellPatchesOnGpu {
 public:
  explicit CellPatchesOnGpu(const CellPatches& from)
      : unknown_count_(from.unknown_count),
        most_unknowns_(from.most_unknowns),
        most_cells_(from.most_cells()),
        layout_(from.layout),
        unknown_at_(copied(from.unknown_at, Device::cuda)),
        patches_(copied(from.patches, Device::cuda)),
        shared_(copied(from.shared, Device::cuda)),
        local_indices_(copied(from.local_indices, Device::cuda)),
        colours_(copied(from.colours, Device::cuda)),
        interface_(copied(from.interface, Device::cuda)),
        interface_offsets_(copied(from.interface_offsets, Device::cuda)),
        contributions_(copied(from.contributions, Device::cuda)) {
    for (const CellPatch& patch : from.patches.span()) own_unknowns_ += patch.own_count;
  }

  Patches pointers() const {
    return {patches_.data(),           shared_.data(),       local_indices_.data(), colours_.data(), interface_.data(),
            interface_offsets_.data(), contributions_.data()};
  }
  std::int32_t unknown_count() const { return unknown_count_; }
  std::int32_t most_unknowns() const { return most_unknowns_; }
  int most_cells() const { return most_cells_; }
  CellLayout layout() const { return layout_; }
  const Vector<std::int32_t>& unknown_at() const { return unknown_at_; }
  std::int64_t patches() const { return patches_.size(); }
  std::int64_t interface() const { return interface_.size(); }
  std::int64_t contributions() const { return contributions_.size(); }
  /// Unknowns that are in at least one patch.
  std::int64_t own_unknowns() const { return own_unknowns_; }
  /// The index in the interface of each contribution; on the GPU.
  Vector<std::int32_t> interface_of_shared() const {
    Vector<std::int32_t> of = copied(shared_, Device::host);
    const Vector<std::int32_t> interface = copied(interface_, Device::host);
    for (std::int32_t& unknown : of.span())
      unknown = static_cast<std::int32_t>(std::lower_bound(interface.span().begin(), interface.span().end(), unknown) -
                                          interface.span().begin());
    return copied(of, Device::cuda);
  }
  /// Bytes read by every product; gather_bytes: read by a gather in addition.
  std::int64_t bytes() const {
    return patches_.bytes() + shared_.bytes() + local_indices_.bytes() + colours_.bytes() + interface_.bytes();
  }
  std::int64_t gather_bytes() const { return interface_offsets_.bytes() + contributions_.bytes(); }

 private:
  std::int32_t unknown_count_, most_unknowns_;
  int most_cells_;
  CellLayout layout_;
  Vector<std::int32_t> unknown_at_;
  Vector<CellPatch> patches_;
  Vector<std::int32_t> shared_;
  Vector<std::uint16_t> local_indices_;
  Vector<std::uint8_t> colours_;
  Vector<std::int32_t> interface_;
  Vector<std::uint32_t> interface_offsets_, contributions_;
  std::int64_t own_unknowns_ = 0;
};

/// y[place(a)] += values[a] where which(a) and place(a) < end; these indices are distinct. Several loads are in flight
/// together: after a store the next load would wait.
template <int n, class T, class PlaceAt, class Which>
__device__ void add_at(const PlaceAt& place, const Which& which, const T (&values)[n], T* y, int end) {
  constexpr int together = 8;
#pragma unroll
  for (int first = 0; first < n; first += together) {
    T sums[together];
#pragma unroll
    for (int a = first; a < n && a < first + together; ++a)
      if (which(a)) sums[a - first] = y[place(a)] + values[a];
#pragma unroll
    for (int a = first; a < n && a < first + together; ++a)
      if (which(a) && place(a) < end) y[place(a)] = sums[a - first];
  }
}
template <int n, class T, class PlaceAt>
__device__ void add_at(const PlaceAt& place, const T (&values)[n], T* y, int end) {
  add_at(
      place, [](int) { return true; }, values, y, end);
}

/// Local indices of the n dofs of one slot, in the interleaved layout: adjacent threads load adjacent words.
template <int n>
struct LocalIndices {
  std::uint32_t pairs[(n + 1) / 2];

  __device__ void load(const Patches& all, const CellPatch& patch, int slot) {
    constexpr int group = CellPatches::group, words = (n + 1) / 2;
    const auto* from = reinterpret_cast<const std::uint32_t*>(all.local_indices) +
                       (patch.first_slot + slot) / group * (group * words) + slot % group;
#pragma unroll
    for (int pair = 0; pair < words; ++pair) pairs[pair] = __ldcs(from + pair * group);
  }
  __device__ int operator[](int dof) const { return static_cast<int>(pairs[dof / 2] >> dof % 2 * 16 & 0xffffU); }

  /// take: x_e = P_e x. add: y += P_e' y_e, without constrained dofs.
  template <class T>
  __device__ void take(const T* x, T (&x_e)[n]) const {
#pragma unroll
    for (int a = 0; a < n; ++a) x_e[a] = x[(*this)[a]];
  }
  template <class T>
  __device__ void add(const T (&y_e)[n], T* y, int unknown_count) const {
    add_at([this](int a) { return (*this)[a]; }, y_e, y, unknown_count);
  }
};

/// Range of the colours of a wave, the cells [first, last) of a patch, loaded early by all threads of the block, as the
/// latency is long.
struct WaveColours {
  int first, last;  ///< colours; last < first for none

  __device__ WaveColours(int its_first, int its_last) : first(its_first), last(its_last) {}
  __device__ WaveColours(const Patches& all, const CellPatch& patch, int begin, int end) : first(0), last(-1) {
    const std::uint8_t* colours = all.colours + patch.first_slot;
    end = min(end, static_cast<int>(patch.cells));
    if (begin >= end) return;
    first = colours[begin];
    last = colours[end - 1];
  }

  /// Calls add(colour) for every colour, one after the other, so that cells of different colours never add to an
  /// unknown concurrently. Called by all threads of the block; all additions are visible to all threads afterwards.
  template <class Add>
  __device__ void one_by_one(const Add& add) const {
    for (int colour = first; colour <= last; ++colour) {
      add(colour);
      __syncthreads();
    }
  }
};

/// The colour of a slot's cell; -1 for an empty slot.
__device__ inline int colour_of(const Patches& all, const CellPatch& patch, int slot) {
  return slot < patch.cells ? all.colours[patch.first_slot + slot] : -1;
}

/// The same for a thread with one cell of the wave, in slot `mine`, or none.
struct CellColours : WaveColours {
  int mine;

  __device__ CellColours(const Patches& all, const CellPatch& patch, int begin, int end, int slot)
      : WaveColours(all, patch, begin, end), mine(slot < end ? colour_of(all, patch, slot) : -1) {}

  /// Calls add() at the turn of this thread's cell.
  template <class Add>
  __device__ void one_by_one(const Add& add) const {
    WaveColours::one_by_one([&](int colour) {
      if (mine == colour) add();
    });
  }
};

/// Adds the products of a patch's cells of n dofs from slot `first` on, one thread a cell. multiply(slot, x_e, y_e)
/// computes y_e = K_e x_e of the cell in a slot of the patch.
template <int threads, int n, class T, class Multiply>
__device__ void wave_of_cells(const Patches& all, const CellPatch& patch, int first, const T* x, T* y,
                              const Multiply& multiply) {
  const int slot = first + static_cast<int>(threadIdx.x);
  const CellColours colours(all, patch, first, first + threads, slot);
  LocalIndices<n> local_indices;
  T y_e[n];
  if (slot < patch.cells) {
    T x_e[n];
    local_indices.load(all, patch, slot);
    local_indices.take(x, x_e);
    multiply(slot, x_e, y_e);
  }
  colours.one_by_one([&] { local_indices.add(y_e, y, static_cast<int>(patch.unknown_count)); });
}

/// The same for all cells, wave by wave; multiply takes the slot among all slots.
template <int threads, int n, class T, class Multiply>
__device__ void wave_by_wave(const Patches& all, const CellPatch& patch, const T* x, T* y, const Multiply& multiply) {
  for (int first = 0; first < patch.slots; first += threads)
    wave_of_cells<threads, n>(all, patch, first, x, y, [&](int slot, const T(&x_e)[n], T(&y_e)[n]) {
      multiply(patch.first_slot + slot, x_e, y_e);
    });
}

/// Calls work with the data that the cells prefetch before x is there, or without if they do not prefetch.
template <class Cells, class Work>
__device__ void with_ahead(const Cells& cells, const Patches& all, const CellPatch& patch, const Work& work) {
  if constexpr (requires { cells.ahead(all, patch); })
    work(cells.ahead(all, patch));
  else
    work();
}

/// interface[r], and the range of the indices of its contributions; empty behind the last.
struct InterfaceOffsets {
  std::int32_t position;
  std::uint32_t begin = 0, end = 0;

  __device__ InterfaceOffsets(const Patches& all, std::int64_t r, std::int64_t interface) {
    if (r >= interface) return;
    position = __ldcs(all.interface + r);
    begin = __ldg(all.interface_offsets + r);
    end = __ldg(all.interface_offsets + r + 1);
  }
};

/// The same with the indices of the first two contributions: nearly all unknowns have two.
struct InterfaceUnknown : InterfaceOffsets {
  std::uint32_t first, second;

  __device__ InterfaceUnknown(const Patches& all, const InterfaceOffsets& offsets) : InterfaceOffsets(offsets) {
    if (begin < end) first = __ldcs(all.contributions + begin);
    if (begin + 1 < end) second = __ldcs(all.contributions + begin + 1);
  }
  __device__ InterfaceUnknown(const Patches& all, std::int64_t r, std::int64_t interface)
      : InterfaceUnknown(all, InterfaceOffsets(all, r, interface)) {}

  /// Loads the first two contributions.
  template <class T>
  __device__ void load_two(const T* contributions, T (&two)[2]) const {
    two[0] = begin < end ? __ldcs(contributions + first) : T(0);
    two[1] = begin + 1 < end ? __ldcs(contributions + second) : T(0);
  }
  /// Sum of all patches' contributions to the unknown, in their order, given the first two.
  template <class T>
  __device__ T gathered(const Patches& all, const T* contributions, const T (&two)[2]) const {
    T sum = two[0] + two[1];
    for (std::uint32_t k = begin + 2; k < end; ++k) sum += __ldcs(contributions + __ldcs(all.contributions + k));
    return sum;
  }
};

}  // namespace femcg::operators::cuda

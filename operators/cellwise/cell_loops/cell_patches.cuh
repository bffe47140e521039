#pragma once

// The patches of cells (cell_patches.hpp) as the threads of the GPU see them.

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

/// A copy of what a product reads of CellPatches.
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
  /// Those that some patch has.
  std::int64_t own_unknowns() const { return own_unknowns_; }
  /// Of each contribution, which of the interface it is for; on the GPU.
  Vector<std::int32_t> interface_of_shared() const {
    Vector<std::int32_t> of = copied(shared_, Device::host);
    const Vector<std::int32_t> interface = copied(interface_, Device::host);
    for (std::int32_t& unknown : of.span())
      unknown = static_cast<std::int32_t>(std::lower_bound(interface.span().begin(), interface.span().end(), unknown) -
                                          interface.span().begin());
    return copied(of, Device::cuda);
  }
  /// What every product reads, and what a gather reads besides.
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

/// y[place(a)] += values[a] where which(a) and place(a) < end; such places differ. Sums are under way together: behind
/// a store the next load would wait for its sum.
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

/// The places of the n dofs of one slot, of the interleaved layout: neighbouring threads read neighbouring words.
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

  /// x_e = P_e x, and y += P_e' y_e without the constrained dofs.
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

/// The colours of a wave of cells [first, last) of a patch, which all threads of the block load together, and early:
/// they come from far.
struct WaveColours {
  int first, last;  ///< of its cells; last < first where there are none

  __device__ WaveColours(int its_first, int its_last) : first(its_first), last(its_last) {}
  __device__ WaveColours(const Patches& all, const CellPatch& patch, int begin, int end) : first(0), last(-1) {
    const std::uint8_t* colours = all.colours + patch.first_slot;
    end = min(end, static_cast<int>(patch.cells));
    if (begin >= end) return;
    first = colours[begin];
    last = colours[end - 1];
  }

  /// Calls add(colour) for every colour, one after the other, so that no two cells of different colours add to one
  /// unknown at once. All threads of the block call it; what was added is there for all of them afterwards.
  template <class Add>
  __device__ void one_by_one(const Add& add) const {
    for (int colour = first; colour <= last; ++colour) {
      add(colour);
      __syncthreads();
    }
  }
};

/// The colour of a slot's cell; none of a slot without one.
__device__ inline int colour_of(const Patches& all, const CellPatch& patch, int slot) {
  return slot < patch.cells ? all.colours[patch.first_slot + slot] : -1;
}

/// The same for a thread that has one cell of the wave, that of the slot `mine`, or none.
struct CellColours : WaveColours {
  int mine;

  __device__ CellColours(const Patches& all, const CellPatch& patch, int begin, int end, int slot)
      : WaveColours(all, patch, begin, end), mine(slot < end ? colour_of(all, patch, slot) : -1) {}

  /// Calls add() when it is the turn of this thread's cell.
  template <class Add>
  __device__ void one_by_one(const Add& add) const {
    WaveColours::one_by_one([&](int colour) {
      if (mine == colour) add();
    });
  }
};

/// A patch's cells of n dofs from slot `first` on, a thread each. multiply(slot, x_e, y_e) makes y_e = K_e x_e of the
/// cell of a slot of the patch.
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

/// All of them, wave by wave; slots are those among all slots.
template <int threads, int n, class T, class Multiply>
__device__ void wave_by_wave(const Patches& all, const CellPatch& patch, const T* x, T* y, const Multiply& multiply) {
  for (int first = 0; first < patch.slots; first += threads)
    wave_of_cells<threads, n>(all, patch, first, x, y, [&](int slot, const T(&x_e)[n], T(&y_e)[n]) {
      multiply(patch.first_slot + slot, x_e, y_e);
    });
}

/// Calls work with what the cells load before x is there, or with nothing where they do not.
template <class Cells, class Work>
__device__ void with_ahead(const Cells& cells, const Patches& all, const CellPatch& patch, const Work& work) {
  if constexpr (requires { cells.ahead(all, patch); })
    work(cells.ahead(all, patch));
  else
    work();
}

/// interface[r], and where the numbers of the contributions to it are; none behind the last.
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

/// The same, and the numbers of the first two contributions, which are all of nearly all.
struct InterfaceUnknown : InterfaceOffsets {
  std::uint32_t first, second;

  __device__ InterfaceUnknown(const Patches& all, const InterfaceOffsets& offsets) : InterfaceOffsets(offsets) {
    if (begin < end) first = __ldcs(all.contributions + begin);
    if (begin + 1 < end) second = __ldcs(all.contributions + begin + 1);
  }
  __device__ InterfaceUnknown(const Patches& all, std::int64_t r, std::int64_t interface)
      : InterfaceUnknown(all, InterfaceOffsets(all, r, interface)) {}

  /// Their values.
  template <class T>
  __device__ void load_two(const T* contributions, T (&two)[2]) const {
    two[0] = begin < end ? __ldcs(contributions + first) : T(0);
    two[1] = begin + 1 < end ? __ldcs(contributions + second) : T(0);
  }
  /// What the patches have together for it, in their order, once the first two are there.
  template <class T>
  __device__ T gathered(const Patches& all, const T* contributions, const T (&two)[2]) const {
    T sum = two[0] + two[1];
    for (std::uint32_t k = begin + 2; k < end; ++k) sum += __ldcs(contributions + __ldcs(all.contributions + k));
    return sum;
  }
};

}  // namespace femcg::operators::cuda

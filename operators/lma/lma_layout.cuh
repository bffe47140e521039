#pragma once

#include "operators/cuda.cuh"
#include "operators/lma/lma_cuda.hpp"

namespace femcg::operators {

/// Where entry (i, j <= i) of a slot's matrix is stored. For a thread a cell, neighbouring threads read neighbouring 16
/// bytes: groups of 32 slots, in each of them runs of 16 bytes of the packed lower triangle x 32 slots. For a warp a
/// cell, the lower triangle column by column, slot after slot.
template <std::floating_point T>
struct LmaLayout {
  static constexpr int together = 16 / static_cast<int>(sizeof(T));  ///< numbers in 16 bytes

  int dofs;
  bool interleaved;  ///< for a thread a cell

  explicit LmaLayout(int of_dofs) : dofs(of_dofs), interleaved(lma_cell_threads(of_dofs) == CellThreads::one) {}

  __host__ __device__ int packed() const { return dofs * (dofs + 1) / 2; }
  __host__ __device__ int runs() const { return (packed() + together - 1) / together; }
  std::int64_t size(std::int64_t slots) const { return slots * (interleaved ? runs() * together : packed()); }
  __device__ std::int64_t index(std::int64_t slot, int i, int j) const {
    if (!interleaved) return slot * packed() + j * dofs - j * (j - 1) / 2 + (i - j);
    constexpr int group = CellPatches::group;
    const int entry = i * (i + 1) / 2 + j;
    return ((slot / group * runs() + entry / together) * group + slot % group) * together + entry % together;
  }
};

}  // namespace femcg::operators

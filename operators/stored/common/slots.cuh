#pragma once

// The product of the formats that store a matrix in slots, a thread each: rows (ELLPACK, the padded part of the hybrid
// format), or each of so many parts of a row (ELLR-T).

#include "operators/backend/cuda/product.cuh"

namespace femcg::operators::cuda {

/// Entry k of slot i is at k count + i.
template <class T>
struct Slots {
  std::int64_t count;
  const std::int32_t* columns;
  const T* values;
};

/// Entries k to k + together - 1 of a slot, in flight together.
template <int together, class T>
struct SlotEntries {
  std::int32_t columns[together];  ///< -1 behind the slot's end
  T values[together];

  __device__ SlotEntries(const Slots<T>& a, std::int64_t slot, std::int32_t k, std::int32_t length) {
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const std::int64_t at = (k + j) * a.count + slot;
      const bool exists = k + j < length;
      columns[j] = exists ? load_once(a.columns + at) : -1;
      values[j] = exists ? load_once(a.values + at) : T{0};
    }
  }
  __device__ void add_products(const T* __restrict__ x, T (&sums)[together]) const {
#pragma unroll
    for (int j = 0; j < together; ++j)
      if (columns[j] >= 0) sums[j] += values[j] * __ldg(x + columns[j]);
  }
};

/// Multiplies slots in strides of the grid and hands each slot's product to done(slot, sum), in all lanes of a warp at
/// once, behind the last slot too. length(slot) is a load: of as many entries as the slot has. Nothing but x is waited
/// for: the length of a slot is on its way since two slots ago, and its entries since the four before, be they of the
/// slot before.
template <class T, class Length, class Done>
__device__ void multiply_slots(const Slots<T>& a, const T* x, const Length& length, const Done& done) {
  constexpr int together = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t end = (a.count + threads_per_warp - 1) / threads_per_warp * threads_per_warp;
  const auto length_of = [&](std::int64_t slot) { return slot < a.count ? length(slot) : 0; };
  std::int64_t slot = cuda::thread_number();
  std::int32_t now = length_of(slot), next = length_of(slot + stride);
  SlotEntries<together, T> entries(a, slot, 0, now);
  for (; slot < end; slot += stride) {
    T sums[together] = {};
#pragma unroll 1
    for (std::int32_t k = together; k < now; k += together) {
      const SlotEntries<together, T> further(a, slot, k, now);
      entries.add_products(x, sums);
      entries = further;
    }
    __syncwarp();  // what follows is loaded for all lanes at once
    now = next;
    next = length_of(slot + 2 * stride);
    const SlotEntries<together, T> further(a, slot + stride, 0, now);
    entries.add_products(x, sums);
    entries = further;
    done(slot, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

}  // namespace femcg::operators::cuda

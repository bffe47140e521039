#pragma once

// The product of the formats that store a matrix in slots, one thread each: rows (ELLPACK, the padded part of the
// hybrid format), or one of several parts of a row (ELLR-T).

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

/// Multiplies slots in a grid-stride loop and calls done(slot, sum) with each slot's product, in all lanes of a warp
/// together, also behind the last slot. length(slot) loads a slot's number of entries. Only loads of x are exposed: the
/// length of a slot is loaded two slots ahead, and its entries four entries ahead, across slots.
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
    __syncwarp();  // the following loads are by all lanes together
    now = next;
    next = length_of(slot + 2 * stride);
    const SlotEntries<together, T> further(a, slot + stride, 0, now);
    entries.add_products(x, sums);
    entries = further;
    done(slot, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

}  // namespace femcg::operators::cuda

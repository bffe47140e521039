#pragma once

// Host kernels of the formats that are stored column by column.

#include "operators/backend/threads/simd.hpp"

namespace femcg::operators {

/// sums[i] += values[i] x[columns[i]] for i < count: one column of a block of rows, whose sums stay in the L1 cache.
/// The next column of these rows is `ahead` entries further on, and is prefetched, as no hardware prefetcher would.
template <std::floating_point T>
void add_products(const T* values, const std::int32_t* columns, const T* x, T* sums, std::int64_t count,
                  std::int64_t ahead) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __builtin_prefetch(values + i + ahead);
    __builtin_prefetch(columns + i + ahead);
    const Quad<T> low = load<4>(sums + i) + load<4>(values + i) * pick_four(x, columns + i);
    const Quad<T> high = load<4>(sums + i + 4) + load<4>(values + i + 4) * pick_four(x, columns + i + 4);
    std::memcpy(sums + i, &low, sizeof low);
    std::memcpy(sums + i + 4, &high, sizeof high);
  }
#pragma GCC unroll 0
  for (; i < count; ++i) sums[i] += values[i] * x[columns[i]];
}

}  // namespace femcg::operators

#pragma once

#include <cstdint>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Positions of numbers by value, in ascending order per value: the positions of number i are places[k], offsets[i] <=
/// k < offsets[i + 1], for 0 <= i < `groups`. Negative numbers are in no group. On the GPU.
struct Groups {
  Vector<std::int64_t> offsets, places;
};
Groups cuda_grouped(const Vector<std::int32_t>& numbers, std::int32_t groups);

}  // namespace femcg::operators

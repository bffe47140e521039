#pragma once

#include <cstdint>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// The places of numbers by their value, those of one value in their order: the places of number i are places[k],
/// offsets[i] <= k < offsets[i + 1], for 0 <= i < `groups`. Numbers below 0 are in no group. On the GPU.
struct Groups {
  Vector<std::int64_t> offsets, places;
};
Groups cuda_grouped(const Vector<std::int32_t>& numbers, std::int32_t groups);

}  // namespace femcg::operators

#pragma once

#include <cstdint>

#include "operators/backend/device.hpp"

namespace femcg::operators {

/// What copying one large array to another moves a second, read plus written.
struct Bandwidth {
  double bytes_per_second = 0;
  std::int64_t array_bytes = 0;
};

/// The best of several copies of arrays that no cache holds, with all threads.
Bandwidth measure_copy_bandwidth(Device device);

}  // namespace femcg::operators

#pragma once

#include <cstdint>

#include "operators/backend/device.hpp"

namespace femcg::operators {

/// Bandwidth of copying one large array to another, bytes read plus written per second.
struct Bandwidth {
  double bytes_per_second = 0;
  std::int64_t array_bytes = 0;
};

/// The best of several copies of arrays that no cache holds, with all threads.
Bandwidth measure_copy_bandwidth(Device device);

}  // namespace femcg::operators

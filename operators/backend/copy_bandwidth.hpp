#pragma once

#include "operators/backend/device.hpp"

namespace femcg::operators {

/// Bytes read plus written per second: the best of several copies of arrays that no cache holds, with all threads.
double measure_copy_bandwidth(Device device);

}  // namespace femcg::operators

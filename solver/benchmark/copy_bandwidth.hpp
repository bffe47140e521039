#pragma once

#include <string>

#include "operators/backend/device.hpp"

namespace femcg::solver {

/// Bytes per second, read plus written, of copies of one large array to another on a device.
struct CopyBandwidth {
  double bytes_per_second = 0;  ///< 0: it could not be measured
  std::string warning;          ///< why it could not, or why it cannot be kept
};
/// Never fails, since nobody would give up a solution for it.
CopyBandwidth measure_copy_bandwidth(operators::Device device);

/// Likewise bytes per second from the host's memory to the GPU.
CopyBandwidth measure_link_bandwidth();

}  // namespace femcg::solver

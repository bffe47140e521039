#pragma once

#include <string>
#include <vector>

#include "operators/backend/device.hpp"
#include "solver/prediction/models/calibration.hpp"

namespace femcg::solver {

/// Rate at which all threads reread an array of this size, parts of which are in caches.
struct ReadRate {
  double bytes = 0, bytes_per_second = 0;
};

/// Measured rates of a device.
struct Rates {
  operators::Device device = operators::Device::host;
  int threads = 1;              ///< of the processor, for any device
  double copy_bandwidth = 0;    ///< bytes read plus written per second; 0 if not measured
  std::vector<ReadRate> reads;  ///< of the processor, by ascending bytes; empty for a GPU
  double flops = 0;             ///< of the processor: multiply-adds on data in the L1 caches, times two; 0 for a GPU
  Calibration calibration;      ///< cached by femcg predict --train; else empty
  std::vector<std::string> warnings;  ///< sentences on what could not be measured or cached

  /// True if there are rates to predict with.
  bool known() const { return copy_bandwidth > 0; }
  /// Bytes per second of a loop that repeatedly reads `bytes` bytes: interpolated linearly in the logarithm between
  /// measured sizes. On a GPU the copy bandwidth.
  double reading(double bytes) const;
};

/// Cached rates of this device, number of threads and version of femcg; measures and caches missing ones.
Rates rates_of(operators::Device device);

}  // namespace femcg::solver

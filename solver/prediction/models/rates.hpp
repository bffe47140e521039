#pragma once

#include <string>
#include <vector>

#include "operators/backend/device.hpp"
#include "solver/prediction/models/calibration.hpp"

namespace femcg::solver {

/// How fast all threads read what they read before, where that is so many bytes: caches hold some of it.
struct ReadRate {
  double bytes = 0, bytes_per_second = 0;
};

/// Measured rates of a device.
struct Rates {
  operators::Device device = operators::Device::host;
  int threads = 1;              ///< of the processor, whatever the device
  double copy_bandwidth = 0;    ///< bytes read plus written; 0 where it could not be measured
  std::vector<ReadRate> reads;  ///< of the processor, by ascending bytes; empty for a GPU
  double flops = 0;             ///< of the processor: multiply-adds on numbers in the L1 caches, times two; 0 for a GPU
  Calibration calibration;      ///< that femcg predict --train kept; empty where there is none
  std::vector<std::string> warnings;  ///< sentences on what could not be measured or kept

  /// True if there are rates to predict with.
  bool known() const { return copy_bandwidth > 0; }
  /// Bytes per second of a loop that goes over so many again and again: between measured sizes linear in the logarithm.
  /// On a GPU the copy bandwidth.
  double reading(double bytes) const;
};

/// The cached rates of this device, number of threads and version of femcg; missing ones are measured and cached.
Rates rates_of(operators::Device device);

}  // namespace femcg::solver

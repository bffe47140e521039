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

/// What a device does in a second, as it was measured.
struct Rates {
  operators::Device device = operators::Device::host;
  int threads = 1;              ///< of the processor, whatever the device
  double copy_bandwidth = 0;    ///< bytes read plus written; 0 where it could not be measured
  std::vector<ReadRate> reads;  ///< of the processor, by ascending bytes; empty for a GPU
  double flops = 0;             ///< of the processor: multiply-adds on numbers in the L1 caches, times two; 0 for a GPU
  Calibration calibration;      ///< that femcg predict --train kept; empty where there is none
  std::vector<std::string> remarks;  ///< sentences on what could not be measured or kept

  /// Whether there is anything to predict by.
  bool known() const { return copy_bandwidth > 0; }
  /// Bytes per second of a loop that goes over so many again and again: between measured sizes linear in the logarithm.
  /// Of a GPU the copy bandwidth.
  double reading(double bytes) const;
};

/// Those that are kept for this device, number of threads and version of femcg; what is missing is measured, and kept.
Rates rates_of(operators::Device device);

}  // namespace femcg::solver

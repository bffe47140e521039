#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/records/record.hpp"

namespace femcg::solver {

/// Bandwidth of copies of one large array to another on a device, in bytes read plus written per second.
struct CopyBandwidth {
  double bytes_per_second = 0;  ///< 0: not measured
  std::string warning;          ///< why it could not be measured or cached
};
/// Never throws: a failed measurement must not end a run.
CopyBandwidth measure_copy_bandwidth(operators::Device device);

/// The same from the host's memory to the GPU.
CopyBandwidth measure_link_bandwidth();

/// Cache key of a device: the version of femcg, the device and its threads.
std::string key_of(operators::Device device);

/// File that caches bandwidths across runs, in $XDG_CACHE_HOME/femcg, else ~/.cache/femcg; empty if the user has
/// neither.
std::filesystem::path bandwidth_file();

/// Cached bandwidth in bytes per second for this device, number of threads and version of femcg; empty if there is
/// none, or the file is unreadable or damaged.
std::optional<double> cached_copy_bandwidth(operators::Device device);

/// Measures the bandwidth and caches it if possible. Does not cache it if other programs used the processors meanwhile,
/// unless the user asked for the measurement.
CopyBandwidth renewed_copy_bandwidth(operators::Device device, bool asked_for = false);

/// Another cached rate of a device, by name, from the same file.
std::optional<double> cached_rate(const std::string& what, operators::Device device);
/// Caches a rate; returns a warning if that fails, else "".
std::string cache_rate(const std::string& what, operators::Device device, double rate);

/// Cached bandwidth, or one measured now.
CopyBandwidth copy_bandwidth_of(operators::Device device);

}  // namespace femcg::solver

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "solver/records/record.hpp"

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

/// The version, a device and its threads: what is measured of one is kept under this name.
std::string key_of(operators::Device device);

/// The folder that keeps copy bandwidths from one run to the next: $XDG_CACHE_HOME/femcg, else ~/.cache/femcg; empty
/// where the user has neither.
std::filesystem::path bandwidth_file();

/// Bytes per second that were kept for this device, this number of threads and this version of femcg; none where there
/// are none, or the file cannot be read or is damaged.
std::optional<double> cached_copy_bandwidth(operators::Device device);

/// Measures it, and keeps it where that can be done; not where other programs took the processor meanwhile, unless it
/// is what the user asked for.
CopyBandwidth renewed_copy_bandwidth(operators::Device device, bool asked_for = false);

/// Another rate of a device by its name, kept in the same file.
std::optional<double> cached_rate(const std::string& what, operators::Device device);
/// Keeps it. A sentence where that cannot be done, else empty.
std::string cache_rate(const std::string& what, operators::Device device, double rate);

/// The bandwidth that was kept, else measured now.
CopyBandwidth copy_bandwidth_of(operators::Device device);

}  // namespace femcg::solver

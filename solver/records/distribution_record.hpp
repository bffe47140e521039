#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// The partition of a matrix, of which each process has rows.
inline constexpr std::string_view partition_of_rows = "rows";

/// Sizes of one process's subdomain, and its part in the products of a run.
struct ProcessRecord {
  std::int64_t cells = 0, interface_cells = 0;  ///< of a matrix that is divided by rows, rows
  std::int64_t unknowns = 0;                    ///< owned
  std::int64_t ghosts = 0, neighbours = 0;
  std::int64_t products = 0, messages = 0, sent_bytes = 0;
  std::int64_t stored_bytes = 0, peak_memory_bytes = 0;
  double assembly = 0, conversion = 0, solve = 0;  ///< seconds
  double multiplying = 0, waiting = 0;             ///< of the products: with its own cells; for others
};

/// How several processes shared a run.
struct DistributionRecord {
  std::string partition, mode;
  std::string transport;        ///< how values travel between GPUs; empty of processors
  bool automatic_mode = false;  ///< where auto was asked for
  std::vector<ProcessRecord> processes;

  /// The longest time that a process multiplied with its own cells over the mean; 1 is best.
  double imbalance() const;
  /// The share of all products' time in which processes waited for others.
  double waiting() const;
};

/// "distribution" and "processes" of result.json.
void add_json(const DistributionRecord& distribution, nlohmann::ordered_json& to);
/// A line of the summary.
std::string summary(const DistributionRecord& distribution);

}  // namespace femcg::solver

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// Name of the partition of a matrix by rows.
inline constexpr std::string_view partition_of_rows = "rows";

/// Sizes of one process's subdomain, and its work in the products of a run.
struct ProcessRecord {
  std::int64_t cells = 0, interface_cells = 0;  ///< rows, for a matrix divided by rows
  std::int64_t unknowns = 0;                    ///< owned
  std::int64_t ghosts = 0, neighbours = 0;
  std::int64_t products = 0, messages = 0, sent_bytes = 0;
  std::int64_t stored_bytes = 0, peak_memory_bytes = 0;
  double assembly = 0, conversion = 0, solve = 0;  ///< seconds
  double multiplying = 0, waiting = 0;             ///< seconds of the products: with its own cells; waiting for others
};

/// Distribution of a run over several processes.
struct DistributionRecord {
  std::string partition, mode;
  std::string transport;        ///< how values travel between GPUs; empty for processors
  bool automatic_mode = false;  ///< true if auto was asked for
  std::vector<ProcessRecord> processes;

  /// Maximum over mean of the processes' times for multiplying with their own cells; 1 is best.
  double imbalance() const;
  /// Fraction of all products' time in which processes waited for others.
  double waiting() const;
};

/// Adds "distribution" and "processes" to result.json.
void add_json(const DistributionRecord& distribution, nlohmann::ordered_json& to);
/// A line of the summary.
std::string summary(const DistributionRecord& distribution);

}  // namespace femcg::solver

#include "solver/records/distribution_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace femcg::solver {

double DistributionRecord::imbalance() const {
  double all = 0, longest = 0;
  for (const ProcessRecord& process : processes) {
    all += process.multiplying;
    longest = std::max(longest, process.multiplying);
  }
  return all > 0 ? longest * static_cast<double>(processes.size()) / all : 1;
}

double DistributionRecord::waiting() const {
  double all = 0, waited = 0;
  for (const ProcessRecord& process : processes) {
    all += process.multiplying + process.waiting;
    waited += process.waiting;
  }
  return all > 0 ? waited / all : 0;
}

void add_json(const DistributionRecord& distribution, nlohmann::ordered_json& to) {
  nlohmann::ordered_json& of_all = to["distribution"];
  of_all = {{"partition", distribution.partition}, {"mode", distribution.mode}};
  if (distribution.automatic_mode) of_all["requested"] = "auto";
  if (!distribution.transport.empty()) of_all["transport"] = distribution.transport;
  of_all.update({{"imbalance", distribution.imbalance()}, {"waiting_fraction", distribution.waiting()}});
  to["processes"] = nlohmann::ordered_json::array();
  const bool of_matrix = distribution.partition == partition_of_rows;
  for (std::size_t rank = 0; rank < distribution.processes.size(); ++rank) {
    const ProcessRecord& process = distribution.processes[rank];
    to["processes"].push_back({{"rank", rank},
                               {of_matrix ? "rows" : "cells", process.cells},
                               {of_matrix ? "interface_rows" : "interface_cells", process.interface_cells},
                               {"unknowns", process.unknowns},
                               {"ghosts", process.ghosts},
                               {"neighbours", process.neighbours},
                               {"products", process.products},
                               {"messages", process.messages},
                               {"sent_bytes", process.sent_bytes},
                               {"stored_bytes", process.stored_bytes},
                               {"peak_memory_bytes", process.peak_memory_bytes},
                               {"seconds",
                                {{"assembly", process.assembly},
                                 {"conversion", process.conversion},
                                 {"solve", process.solve},
                                 {"multiplying", process.multiplying},
                                 {"waiting", process.waiting}}}});
  }
}

std::string summary(const DistributionRecord& distribution) {
  const auto [least, most] = std::ranges::minmax(distribution.processes, {}, &ProcessRecord::cells);
  return fmt::format(
      "  {:<11} {} with {} to {} cells each, partition {}, mode {}{}{}{}; imbalance {:.2f}, waiting {:.0f}%\n",
      "processes", distribution.processes.size(), least.cells, most.cells, distribution.partition, distribution.mode,
      distribution.automatic_mode ? " (auto)" : "", distribution.transport.empty() ? "" : " ", distribution.transport,
      distribution.imbalance(), 100 * distribution.waiting());
}

}  // namespace femcg::solver

#pragma once

// Predicted times of several processes, from that of one, the surfaces between their cells and the speed of messages:
// the model of Kreutzer et al. 2012, section III, for products by cells.

#include <span>
#include <string>

#include "operators/distributed/maps/subdomain_sizes.hpp"
#include "solver/prediction/message_rates.hpp"

namespace femcg::solver {

/// An iteration of CG by one process: seconds.
struct OneProcess {
  double product = 0, passes = 0;
  double product_start = 0, passes_start = 0;  ///< of these, what any size takes
};

/// The same by several, of which each has a machine as fast as that one.
struct ScalingPrediction {
  int processes = 1;
  operators::SubdomainSize largest = {};  ///< the most that any of them has, number by number
  double exchange = 0;                    ///< seconds that contributions travel
  double sums = 0;                        ///< of the two sums of an iteration
  double vector = 0, beside = 0;  ///< seconds of an iteration in vector mode, and with the exchange beside the product

  double iteration() const { return vector < beside ? vector : beside; }
};

/// `whole` is what one process has. Where a process has c of C cells and u of U unknowns, of what one process takes
/// beyond the starts a product takes c / C, and the passes u / U; interface cells and interior cells are a product
/// each. The exchange takes the latency, of processors times the neighbours, and what is sent over the bandwidth; each
/// sum log2(processes) times that of two. In vector mode these add up. Task mode of processors has exchange and
/// interior cells side by side; overlap of GPUs what travels, but not the latency, which is that of kernels.
ScalingPrediction predict_scaling(const OneProcess& one, const operators::SubdomainSize& whole,
                                  std::span<const operators::SubdomainSize> surfaces, int word_bytes,
                                  const MessageRates& messages);

/// A table, and how many processes help. `device` is that of the messages.
std::string to_text(const OneProcess& one, std::span<const ScalingPrediction> predictions, operators::Device device);

}  // namespace femcg::solver

#pragma once

// Predicted times on several processes, from that of one, the interfaces between their cells and the speed of messages:
// the model of Kreutzer et al. 2012, section III, for products by cells.

#include <span>
#include <string>

#include "operators/distributed/maps/subdomain_sizes.hpp"
#include "solver/prediction/message_rates.hpp"

namespace femcg::solver {

/// Seconds of a CG iteration on one process.
struct OneProcess {
  double product = 0, passes = 0;
  double product_start = 0, passes_start = 0;  ///< size-independent parts
};

/// The same on several processes, each on equal hardware.
struct ScalingPrediction {
  int processes = 1;
  operators::SubdomainSize largest = {};  ///< maximum over the processes of each quantity
  double exchange = 0;                    ///< seconds of the exchange of contributions
  double sums = 0;                        ///< seconds of the two global sums of an iteration
  double vector = 0, beside = 0;          ///< seconds of an iteration in vector mode, and with the exchange overlapped

  double iteration() const { return vector < beside ? vector : beside; }
};

/// `whole`: size on one process. A process with c of C cells and u of U unknowns takes, apart from the size-independent
/// parts, c / C of the time of a product and u / U of that of the vector kernels; interface cells and interior cells
/// are a product each. The exchange takes the latency (on processors per neighbour) plus the message size over the
/// bandwidth; each sum log2(processes) times that of two processes. In vector mode these times add up. In task mode of
/// processors the exchange overlaps with the interior cells; on GPUs only the transfer does, not the latency, which is
/// that of kernels.
ScalingPrediction predict_scaling(const OneProcess& one, const operators::SubdomainSize& whole,
                                  std::span<const operators::SubdomainSize> surfaces, int word_bytes,
                                  const MessageRates& messages);

/// Table, with the number of processes that pay. `device`: that of the messages.
std::string to_text(const OneProcess& one, std::span<const ScalingPrediction> predictions, operators::Device device);

}  // namespace femcg::solver

#pragma once

// What several processes are expected to take, from what one takes, the surfaces between their cells, and how fast
// messages are: the model of Kreutzer et al. 2012, section III, for products by cells.

#include <span>
#include <string>
#include <vector>

#include "operators/distributed/communicator.hpp"
#include "operators/distributed/surfaces.hpp"

namespace femcg::solver {

/// How fast messages between two processes are, as it was measured.
struct MessageRates {
  double latency = 0;           ///< seconds from one to the other
  double bytes_per_second = 0;  ///< of long messages, one way
  double sum = 0;               ///< seconds of a sum over two processes
};

/// Measured between the first two processes; together, of two or more.
MessageRates measure_messages(const operators::Communicator& communicator);

/// An iteration of CG by one process: seconds.
struct OneProcess {
  double product = 0, passes = 0;
};

/// The same by several, of which each has a machine as fast as that one.
struct ScalingPrediction {
  int processes = 1;
  operators::Surface largest = {};  ///< the most that any of them has, number by number
  double exchange = 0;              ///< seconds that contributions travel
  double sums = 0;                  ///< of the two sums of an iteration
  double vector = 0, task = 0;      ///< seconds of an iteration in these modes

  double iteration() const { return vector < task ? vector : task; }
};

/// `whole` is what one process has. With c of C cells and u of U unknowns on the process that has most: the product
/// takes c / C of one process', the passes u / U; the exchange latency times neighbours, and what is sent over the
/// bandwidth; each sum log2(processes) times that of two. In vector mode these add up; in task mode the exchange and
/// the interior cells run side by side.
ScalingPrediction predict_scaling(const OneProcess& one, const operators::Surface& whole,
                                  std::span<const operators::Surface> surfaces, int word_bytes,
                                  const MessageRates& messages);

/// A table, and how many processes help.
std::string to_text(const OneProcess& one, std::span<const ScalingPrediction> predictions);

}  // namespace femcg::solver

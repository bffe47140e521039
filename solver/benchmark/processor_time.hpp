#pragma once

#include <cstdint>

namespace femcg::solver {

/// Processor time of all threads of this process, since its start or between two moments.
struct ProcessorTime {
  double wall = 0;             ///< elapsed seconds
  double ran = 0;              ///< seconds on a processor, summed over all threads
  double queued = 0;           ///< seconds ready to run while others ran; 0 if the system does not tell
  std::int64_t preempted = 0;  ///< number of involuntary context switches

  ProcessorTime& operator+=(const ProcessorTime& other);
  ProcessorTime operator-(const ProcessorTime& earlier) const;
};

ProcessorTime processor_time();

/// True if `threads` threads received less than half of the processor time that they requested. A thread that sleeps
/// while waiting for others requests none. If the system does not tell how long threads were ready without running, the
/// criterion is that they ran for less than half of the elapsed time and were preempted repeatedly. A record then has
/// the warning solver::refused_time.
bool was_refused(const ProcessorTime& during, int threads);

}  // namespace femcg::solver

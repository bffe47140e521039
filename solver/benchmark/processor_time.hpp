#pragma once

#include <cstdint>

namespace femcg::solver {

/// The processor time that the system gave to all threads of this process, since it began or between two moments.
struct ProcessorTime {
  double wall = 0;             ///< seconds that went by
  double ran = 0;              ///< seconds on a processor, of all threads together
  double queued = 0;           ///< seconds ready to run while others ran; 0 where the system does not tell
  std::int64_t preempted = 0;  ///< times that a thread had to leave its processor to another

  ProcessorTime& operator+=(const ProcessorTime& other);
  ProcessorTime operator-(const ProcessorTime& earlier) const;
};

ProcessorTime processor_time();

/// True if `threads` threads received less than half of the time that they asked for. A thread that sleeps until others
/// have done their part asks for none. Where the system does not tell how long threads were ready and did not run, they
/// have been refused if they ran for less than half of the time and were interrupted again and again. A record then
/// says solver::refused_time.
bool was_refused(const ProcessorTime& during, int threads);

}  // namespace femcg::solver

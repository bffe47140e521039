#include "solver/benchmark/processor_time.hpp"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "solver/benchmark/clock.hpp"

namespace femcg::solver {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Seconds that the present threads waited in the kernel's run queues; 0 if the kernel does not count them.
double seconds_queued() {
  double nanoseconds = 0;
  std::error_code ended;
  for (std::filesystem::directory_iterator task("/proc/self/task", ended), end; !ended && task != end;
       task.increment(ended)) {
    std::ifstream file(task->path() / "schedstat");
    double ran = 0, queued = 0;
    if (file >> ran >> queued) nanoseconds += queued;
  }
  return 1e-9 * nanoseconds;
}

}  // namespace

ProcessorTime& ProcessorTime::operator+=(const ProcessorTime& other) {
  wall += other.wall;
  ran += other.ran;
  queued += other.queued;
  preempted += other.preempted;
  return *this;
}

ProcessorTime ProcessorTime::operator-(const ProcessorTime& earlier) const {
  return {wall - earlier.wall, ran - earlier.ran, queued - earlier.queued, preempted - earlier.preempted};
}

ProcessorTime processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {seconds_now(), seconds(usage.ru_utime) + seconds(usage.ru_stime), seconds_queued(), usage.ru_nivcsw};
}

bool was_refused(const ProcessorTime& during, int threads) {
  constexpr double least_seconds = 0.05;       // several time slices of the scheduler
  constexpr double preemptions_a_second = 15;  // a few on a quiet host; one per time slice next to another program
  if (during.wall < least_seconds) return false;
  if (during.queued > 0) return during.ran < during.queued;
  return during.ran<0.5 * during.wall * threads&& static_cast<double>(during.preempted)> preemptions_a_second *
         during.wall;
}

}  // namespace femcg::solver

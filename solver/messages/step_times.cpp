#include "solver/messages/step_times.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace femcg::solver {

StepTimes::StepTimes(std::string_view first, Clock::time_point begin)
    : steps_{{std::string(first), "cpu", 0}}, since_(begin) {}

std::size_t StepTimes::find(std::string_view step, std::string_view device) {
  const auto place = std::ranges::find_if(
      steps_, [&](const StepSeconds& known) { return known.name == step && known.device == device; });
  if (place == steps_.end()) {
    steps_.push_back({std::string(step), std::string(device), 0});
    return steps_.size() - 1;
  }
  return place - steps_.begin();
}

void StepTimes::go_on_with(std::size_t step) {
  const Clock::time_point now = Clock::now();
  steps_[current_].seconds += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  current_ = step;
}

void StepTimes::begin(std::string_view step, std::string_view device) { go_on_with(find(step, device)); }

void StepTimes::divert(std::string_view step, std::string_view device, double seconds) {
  const std::size_t other = find(step, device);
  steps_[other].seconds += seconds;
  steps_[current_].seconds -= seconds;
}

std::vector<StepSeconds> StepTimes::list() const {
  std::vector<StepSeconds> steps = steps_;
  steps[current_].seconds += since();
  return steps;
}

StepTimes::Clock::time_point start_of_process() {
  const StepTimes::Clock::time_point now = StepTimes::Clock::now();
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the program's name may have blanks
  timespec since_boot{};
  if (name_end == std::string::npos || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return now;
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int before = 19;  // fields between the name and the start time of the process after boot
  std::string skipped;
  for (int i = 0; i < before; ++i) fields >> skipped;
  double ticks = 0;
  if (!(fields >> ticks)) return now;
  const double age = static_cast<double>(since_boot.tv_sec) + 1e-9 * static_cast<double>(since_boot.tv_nsec) -
                     ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  constexpr double most = 1e9;
  if (!(age >= 0 && age < most)) return now;
  return now - std::chrono::duration_cast<StepTimes::Clock::duration>(std::chrono::duration<double>(age));
}

double total(const std::vector<StepSeconds>& steps) {
  double sum = 0;
  for (const StepSeconds& step : steps) sum += step.seconds;
  return sum;
}

}  // namespace femcg::solver

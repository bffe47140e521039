#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "solver/messages/step_times.hpp"

namespace femcg::solver {

/// Fraction of a step that is done, and the estimated time left.
struct Share {
  double done = 0;  ///< 0 to 1
  double seconds_left = 0;
};

/// Progress of a command on standard error: one live line on a terminal, a line every ten seconds elsewhere, nothing if
/// off; and the time of each step. A step without known fraction shows its elapsed time.
class Progress {
 public:
  explicit Progress(bool on) : Progress(on, start_of_process(), "") {}
  /// Progress of a part of a command that began at `begin`; `before` precedes every text.
  Progress(bool on, std::chrono::steady_clock::time_point begin, std::string before);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a new step immediately. `device`, cpu or cuda: where most of its work is done.
  void step(const std::string& what, std::string_view device = "cpu");
  /// Shows the progress of a step, at most ten times a second.
  void update(const std::string& what, std::optional<Share> share = std::nullopt);
  /// True if the next update would be shown; saves making its text otherwise.
  bool due() const { return on_ && Clock::now() >= next_; }
  void clear();

  StepTimes& times() { return times_; }

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  std::string text(Clock::time_point now) const;
  void show();

  bool on_, live_;
  StepTimes times_;
  Clock::time_point next_{};
  std::mutex mutex_;  ///< protects the following members
  std::condition_variable ended_;
  bool over_ = false, shown_ = false;
  const std::string before_;
  std::string what_;
  std::optional<Share> share_;
  Clock::time_point begin_ = Clock::now(), step_begin_ = begin_;
  std::thread watcher_;
};

/// Estimates the time left of a long task from the fraction done.
class TimeLeft {
 public:
  /// `weights`: relative durations of the parts. The clock starts now.
  explicit TimeLeft(std::vector<double> weights) : weights_(std::move(weights)) {}
  /// Text "12%, 34 s left: " when this fraction of a part and all parts before it are done.
  std::string text(std::size_t part, double done) const;

 private:
  std::vector<double> weights_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace femcg::solver

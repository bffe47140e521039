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

/// How much of a step is done, and for how long it will go on.
struct Share {
  double done = 0;  ///< 0 to 1
  double seconds_left = 0;
};

/// Progress of a command on standard error: one live line on a terminal, a line every ten seconds elsewhere, nothing
/// where it is off; and the time of each step. A step that does not say how far it is shows for how long it goes on.
class Progress {
 public:
  explicit Progress(bool on) : Progress(on, start_of_process(), "") {}
  /// Progress of a part of a command that began at `begin`; `before` precedes all that it shows.
  Progress(bool on, std::chrono::steady_clock::time_point begin, std::string before);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a new step at once. Most of its work is on that device, cpu or cuda.
  void step(const std::string& what, std::string_view device = "cpu");
  /// Shows how far a step is, ten times a second at most.
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
  std::mutex mutex_;  ///< of what follows
  std::condition_variable ended_;
  bool over_ = false, shown_ = false;
  const std::string before_;
  std::string what_;
  std::optional<Share> share_;
  Clock::time_point begin_ = Clock::now(), step_begin_ = begin_;
  std::thread watcher_;
};

/// How much of something long is done, and how long the rest will take if it goes on like this.
class TimeLeft {
 public:
  /// How long each part takes, up to a common factor. The clock starts now.
  explicit TimeLeft(std::vector<double> weights) : weights_(std::move(weights)) {}
  /// "12%, 34 s left: " where this fraction of a part and all parts before it are done.
  std::string text(std::size_t part, double done) const;

 private:
  std::vector<double> weights_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace femcg::solver

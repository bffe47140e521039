#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "solver/messages/step_times.hpp"

namespace femcg::solver {

/// What a command is doing: one live line on standard error, nothing where it is off; and how long each step took.
class Progress {
 public:
  explicit Progress(bool on) : on_(on), times_("starting", start_of_process()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a new step at once. Most of its work is on that device, cpu or cuda.
  void step(const std::string& what, std::string_view device = "cpu");
  /// Shows how far a step is, ten times a second at most.
  void update(const std::string& what);
  /// Whether the next update would be shown: spares making its text.
  bool due() const { return on_ && std::chrono::steady_clock::now() >= next_; }
  void clear();

  StepTimes& times() { return times_; }

 private:
  bool on_;
  StepTimes times_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
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

#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// A step of a command and its wall-clock seconds.
struct StepSeconds {
  std::string name;
  std::string device;  ///< cpu or cuda: where most of the work is done
  double seconds = 0;
};

/// Name of the step that computes a residual for which the user waits.
inline constexpr std::string_view residual_step = "computing the true residual";

/// Wall time by step. Exactly one step is active at any moment, so that all steps add up to the time since the
/// beginning.
class StepTimes {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts with the step `first`, which includes the time since `begin`.
  StepTimes(std::string_view first, Clock::time_point begin);

  /// Ends the active step, and begins or resumes this one.
  void begin(std::string_view step, std::string_view device = "cpu");
  /// Moves `seconds` seconds of the active step, which were timed otherwise, to this step.
  void divert(std::string_view step, std::string_view device, double seconds);
  /// Steps so far, in the order in which they first began.
  std::vector<StepSeconds> list() const;

  /// A step within another, which resumes when this object is destroyed.
  class Within {
   public:
    Within(StepTimes& times, std::string_view step, std::string_view device) : times_(times), before_(times.current_) {
      times_.begin(step, device);
    }
    ~Within() { times_.go_on_with(before_); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    StepTimes& times_;
    std::size_t before_;
  };

 private:
  std::size_t find(std::string_view step, std::string_view device);
  void go_on_with(std::size_t step);
  double since() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

  std::vector<StepSeconds> steps_;
  std::size_t current_ = 0;
  Clock::time_point since_;  ///< start of the current step's present interval
};

/// Start of this process, to about a hundredth of a second; now if the system does not tell.
StepTimes::Clock::time_point start_of_process();

/// Sum of all steps' seconds.
double total(const std::vector<StepSeconds>& steps);

}  // namespace femcg::solver

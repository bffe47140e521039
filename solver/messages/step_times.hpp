#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace femcg::solver {

/// A step of a command and the wall-clock seconds that it took.
struct StepSeconds {
  std::string name;
  std::string device;  ///< cpu or cuda: where most of the work is
  double seconds = 0;
};

/// The step that a residual is for which the user waits.
inline constexpr std::string_view residual_step = "computing the true residual";

/// Where the wall time goes. At every moment one step is under way, so that all of them add up to the time since the
/// beginning.
class StepTimes {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts with the step `first`, which includes the time since `begin`.
  StepTimes(std::string_view first, Clock::time_point begin);

  /// Ends the step that is under way, and begins this one, or goes on with it.
  void begin(std::string_view step, std::string_view device = "cpu");
  /// Says that so many seconds of the step that is under way were this one's, which was timed otherwise.
  void divert(std::string_view step, std::string_view device, double seconds);
  /// Until now, in the order in which they first began.
  std::vector<StepSeconds> list() const;

  /// A step within another, which goes on when this object ends.
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
  Clock::time_point since_;  ///< the current step is under way
};

/// When this process began, to a hundredth of a second or so; now where the system does not say.
StepTimes::Clock::time_point start_of_process();

/// The sum of all.
double total(const std::vector<StepSeconds>& steps);

}  // namespace femcg::solver

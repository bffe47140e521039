#pragma once

#include <chrono>
#include <string>

namespace femcg::solver {

/// One live line on standard error that says what is being done; nothing where it is off.
class Progress {
 public:
  explicit Progress(bool on) : on_(on) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a new step at once.
  void step(const std::string& what);
  /// Shows how far a step is, ten times a second at most.
  void update(const std::string& what);
  /// Whether the next update would be shown: spares making its text.
  bool due() const { return on_ && std::chrono::steady_clock::now() >= next_; }
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace femcg::solver

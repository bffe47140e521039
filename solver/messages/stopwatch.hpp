#pragma once

#include <chrono>

namespace femcg::solver {

/// Runs a step and adds its wall-clock seconds, even if it throws.
template <class Step>
auto timed(double& seconds, Step step) {
  const auto begin = std::chrono::steady_clock::now();
  struct AddOnExit {
    double& seconds;
    std::chrono::steady_clock::time_point begin;
    ~AddOnExit() { seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
  } const add{seconds, begin};
  return step();
}

}  // namespace femcg::solver

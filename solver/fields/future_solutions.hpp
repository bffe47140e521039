#pragma once

#include <cstddef>
#include <future>
#include <span>
#include <stdexcept>
#include <vector>

namespace femcg::solver {

/// Future of the solutions' coefficients, for writers of files that start before CG ends.
class FutureSolutions {
 public:
  /// Sets the solutions, once; they must outlive all calls of the functions below.
  void come(std::span<const std::vector<double>> solutions) { promise_.set_value(solutions); }
  /// Ends all waiting with std::future_error.
  void abandon() { promise_ = {}; }

  /// Waits for them.
  std::span<const std::vector<double>> all() const { return there_.get(); }
  /// Throws std::out_of_range where fewer came: the user wanted an end.
  const std::vector<double>& at(std::size_t load) const {
    if (load >= all().size()) throw std::out_of_range("a load without a solution");
    return all()[load];
  }

 private:
  std::promise<std::span<const std::vector<double>>> promise_;
  std::shared_future<std::span<const std::vector<double>>> there_{promise_.get_future()};
};

}  // namespace femcg::solver

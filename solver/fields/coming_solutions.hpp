#pragma once

#include <cstddef>
#include <future>
#include <span>
#include <stdexcept>
#include <vector>

namespace femcg::solver {

/// The coefficients of solutions, for whoever writes files of them and may begin before they are there.
class ComingSolutions {
 public:
  /// They must be there as long as they are asked for. Once.
  void come(std::span<const std::vector<double>> solutions) { promise_.set_value(solutions); }
  /// Whoever waits gets a std::future_error.
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

#include "solver/records/samples.hpp"

#include <algorithm>

namespace femcg::solver {

double Samples::median() const {
  if (seconds_.empty()) return 0;
  std::vector<double> sorted = seconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}
double Samples::minimum() const { return seconds_.empty() ? 0 : *std::ranges::min_element(seconds_); }
double Samples::maximum() const { return seconds_.empty() ? 0 : *std::ranges::max_element(seconds_); }

}  // namespace femcg::solver

#pragma once

#include <vector>

namespace femcg::solver {

/// Repeated measurements of a time, in seconds.
class Samples {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  bool empty() const { return seconds_.empty(); }
  int count() const { return static_cast<int>(seconds_.size()); }
  /// Latest sample; there must be one.
  double last() const { return seconds_.back(); }
  /// 0 without samples.
  double median() const;
  double minimum() const;
  double maximum() const;

 private:
  std::vector<double> seconds_;
};

}  // namespace femcg::solver

#pragma once

#include "operators/options.hpp"

namespace femcg::operators {

/// What an operator is besides where some of its options say no more than how its products are launched on a GPU.
class WithLaunch {
 public:
  /// From now on products are launched as these options say, which else are those that the operator was made with.
  /// Not while work that was recorded with it is to run. Throws std::invalid_argument as making does.
  virtual void launch_as(const Options& given) = 0;

 protected:
  ~WithLaunch() = default;
};

}  // namespace femcg::operators

#pragma once

namespace femcg::operators {

/// What passes of CG are besides whose sums over processes can wait, so that those of the single-reduction method are
/// one sum an iteration.
class WithDelayedSums {
 public:
  /// Whether from now on `start` and `advance` leave r'M^-1 r and r'r to the next product that has an energy.
  virtual void delay_sums(bool delayed) const = 0;

 protected:
  ~WithDelayedSums() = default;
};

}  // namespace femcg::operators

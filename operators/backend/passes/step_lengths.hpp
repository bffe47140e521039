#pragma once

#include "operators/backend/passes/vector_operations.hpp"

namespace femcg::operators {

/// Of an iteration whose direction's energy is not summed up.
struct StepLengths {
  double alpha, beta;
};

/// beta = rz / old_rz, energy = uw - beta^2 old_energy, which `now` gets, alpha = rz / energy (Chronopoulos & Gear
/// 1989). On the host.
inline StepLengths step_lengths(const CgScalars& before, CgScalars& now) {
  const double beta = step_length(now.rz.value(), before.rz.value());
  const double energy = now.uw.value() - beta * beta * before.energy.value();
  *now.energy.data() = energy;
  return {step_length(now.rz.value(), energy), beta};
}

}  // namespace femcg::operators

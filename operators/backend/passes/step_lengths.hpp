#pragma once

namespace femcg::operators {

// constexpr, so that kernels call these functions too (nvcc --expt-relaxed-constexpr).

/// a / b, or 0 where b is not positive: alpha and beta of CG. An iteration that is made before it is known that the
/// loop is over then changes nothing.
constexpr double step_length(double a, double b) { return b > 0 ? a / b : 0.0; }

/// Step lengths of an iteration, and p'Ap.
struct StepLengths {
  double alpha, beta, energy;
};

/// The step lengths where p'Ap is not summed up (Chronopoulos & Gear 1989), from r'u and u'Au of this iteration, u =
/// M^-1 r, and r'u and p'Ap of the one before:
///   beta = r'u / (r'u)_before,  p'Ap = u'Au - beta^2 (p'Ap)_before,  alpha = r'u / p'Ap.
constexpr StepLengths step_lengths(double rz_before, double energy_before, double rz, double uw) {
  const double beta = step_length(rz, rz_before), energy = uw - beta * beta * energy_before;
  return {step_length(rz, energy), beta, energy};
}

}  // namespace femcg::operators

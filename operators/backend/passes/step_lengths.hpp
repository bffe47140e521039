#pragma once

namespace femcg::operators {

// constexpr, so that kernels can call these functions (nvcc --expt-relaxed-constexpr).

/// a / b, or 0 where b is not positive: alpha and beta of CG. Iterations enqueued before convergence is known then
/// change nothing.
constexpr double step_length(double a, double b) { return b > 0 ? a / b : 0.0; }

/// Step lengths of an iteration, and its p'Ap.
struct StepLengths {
  double alpha, beta, energy;

  /// Next step lengths of a method that does not compute p'Ap (Chronopoulos & Gear 1989), from r'u and u'Au of this
  /// iteration, u = M^-1 r, and r'u of the previous one:
  ///   beta = r'u / (r'u)_before,  p'Ap = u'Au - beta^2 (p'Ap)_before,  alpha = r'u / p'Ap.
  /// In place, since thread 0 of a persistent kernel does this while all others wait: 2 to 4% of its iterations.
  constexpr void advance(double rz_before, double rz, double uw) {
    beta = step_length(rz, rz_before);
    const double now = uw - beta * beta * energy;
    alpha = step_length(rz, now);
    energy = now;
  }
};

/// The same from the previous iteration's p'Ap = energy_before.
constexpr StepLengths step_lengths(double rz_before, double energy_before, double rz, double uw) {
  StepLengths lengths{0, 0, energy_before};
  lengths.advance(rz_before, rz, uw);
  return lengths;
}

}  // namespace femcg::operators

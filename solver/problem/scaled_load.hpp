#pragma once

#include <concepts>
#include <span>

#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/vector.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"

namespace femcg::solver {

/// Multiplies by 2^exponent, as two powers of two that do not overflow although their product may; rounds like ldexp.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int exponent);
  /// The factor 0.
  static PowerOfTwo zero() {
    PowerOfTwo factor(0);
    factor.first_ = 0;
    return factor;
  }
  double operator()(double x) const { return x * first_ * second_; }

 private:
  double first_, second_;
};

/// Right-hand side as passed to CG: load 2^exponent with largest absolute entry from 1 to 2, so that neither single
/// precision nor the squares in a norm underflow or overflow. The solution is that of the load times 2^exponent.
struct ScaledLoad {
  std::span<const double> load;
  int exponent = 0;  ///< 0 for a zero load

  mesh::Array<double> values() const;
  /// Scaled values on a device in precision T, without a full copy on the host.
  template <std::floating_point T>
  operators::Vector<T> rounded(operators::Device device) const;
};
/// Scales a load, which must outlive the result. Throws InputError if an entry is not finite, or if the largest is so
/// small that digits are lost. Collective if several processes have parts of the load.
ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared = {});

/// Values rounded to the operator's precision, on the host.
template <std::floating_point T>
operators::Vector<T> rounded(std::span<const double> values) {
  operators::Vector<T> load(static_cast<std::int64_t>(values.size()));
  operators::for_each_row(load.size(), [&](std::int64_t i) { load[i] = static_cast<T>(values[i]); });
  return load;
}

/// Multiplies every entry by 2^exponent.
void scale(std::span<double> x, int exponent);

}  // namespace femcg::solver

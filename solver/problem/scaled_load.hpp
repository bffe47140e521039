#pragma once

#include <concepts>
#include <span>

#include "mesh/base/pages.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/vector.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"

namespace femcg::solver {

/// x 2^exponent: by two factors that are powers of two without overflow, the product of which may be none; rounded as
/// ldexp rounds.
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

/// A right-hand side as conjugate gradients get it: load 2^exponent, the largest from 1 to 2, so that neither single
/// precision nor the squares of a norm lose it. The solution is that of the load times 2^exponent.
struct ScaledLoad {
  std::span<const double> load;
  int exponent = 0;  ///< 0 where the load is zero

  mesh::Array<double> values() const;
  /// On a device, as an operator's precision takes it; with no copy of all of it on the host.
  template <std::floating_point T>
  operators::Vector<T> rounded(operators::Device device) const;
};
/// Scales a load, which must outlive it. Throws InputError where an entry is not finite, or the largest is so small
/// that its last digits are lost. Collective, where several processes have parts of it.
ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared = {});

/// Numbers as an operator's precision takes them, on the host.
template <std::floating_point T>
operators::Vector<T> rounded(std::span<const double> values) {
  operators::Vector<T> load(static_cast<std::int64_t>(values.size()));
  operators::for_each_row(load.size(), [&](std::int64_t i) { load[i] = static_cast<T>(values[i]); });
  return load;
}

/// x 2^exponent, entry by entry.
void scale(std::span<double> x, int exponent);

}  // namespace femcg::solver

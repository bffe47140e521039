#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "mesh/pages.hpp"
#include "operators/backend/copied_numbers.hpp"
#include "operators/backend/parallel_rows.hpp"
#include "operators/backend/vector.hpp"
#include "operators/distributed/shared_dofs.hpp"

namespace femcg::solver {

/// A right-hand side as conjugate gradients get it: values = load 2^exponent, the largest from 1 to 2, so that neither
/// single precision nor the squares of a norm lose it. The solution is that of the load times 2^exponent.
struct ScaledLoad {
  mesh::Array<double> values;
  int exponent = 0;  ///< 0 where the load is zero
};
/// Throws InputError where an entry is not finite, or the largest is so small that its last digits are lost. Together,
/// where several processes have parts of it.
ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared = {});

/// The load as an operator's precision takes it, on the host or a device.
template <std::floating_point T>
operators::Vector<T> rounded(std::span<const double> values, operators::Device device = operators::Device::host) {
  if constexpr (std::is_same_v<T, double>) return operators::copied(values, device);
  operators::Vector<T> load(static_cast<std::int64_t>(values.size()));
  operators::for_each_row(load.size(), [&](std::int64_t i) { load[i] = static_cast<T>(values[i]); });
  return device == operators::Device::host ? std::move(load) : operators::copied(load, device);
}

/// x 2^exponent, entry by entry.
void scale(std::span<double> x, int exponent);

}  // namespace femcg::solver

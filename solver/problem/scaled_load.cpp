#include "solver/problem/scaled_load.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "solver/messages/error.hpp"

namespace femcg::solver {

PowerOfTwo::PowerOfTwo(int exponent) {
  const int half = exponent / 2;
  first_ = std::ldexp(1.0, std::abs(exponent) > 1000 ? half : exponent);
  second_ = std::ldexp(1.0, std::abs(exponent) > 1000 ? exponent - half : 0);
}

mesh::Array<double> ScaledLoad::values() const {
  mesh::Array<double> scaled = mesh::unset<double>(load.size());
  const PowerOfTwo times(exponent);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < load.size(); ++i) scaled[i] = times(load[i]);
  return scaled;
}

template <std::floating_point T>
operators::Vector<T> ScaledLoad::rounded(operators::Device device) const {
  constexpr std::int64_t window = std::int64_t{1} << 22;
  const PowerOfTwo times(exponent);
  const std::int64_t size = std::ssize(load);
  operators::Vector<T> all(size, device), some(device == operators::Device::host ? 0 : std::min(size, window));
  const auto write = [&](std::int64_t first, std::int64_t count, T* to) {
    operators::for_each_row(count, [&](std::int64_t i) { to[i] = static_cast<T>(times(load[first + i])); });
  };
  if (device == operators::Device::host) {
    write(0, size, all.data());
    return all;
  }
  for (std::int64_t first = 0; first < size; first += window) {
    const std::int64_t count = std::min(window, size - first);
    write(first, count, some.data());
    operators::copy_bytes(some.data(), operators::Device::host, all.data() + first, device,
                          count * static_cast<std::int64_t>(sizeof(T)));
  }
  return all;
}

template operators::Vector<double> ScaledLoad::rounded(operators::Device) const;
template operators::Vector<float> ScaledLoad::rounded(operators::Device) const;

ScaledLoad scaled_load(std::span<const double> load, const operators::SharedDofs& shared) {
  double most = 0;
  bool finite = true;
#pragma omp parallel for schedule(static) reduction(max : most) reduction(&& : finite)
  for (std::size_t i = 0; i < load.size(); ++i) {
    finite = finite && std::isfinite(load[i]);
    most = std::max(most, std::abs(load[i]));
  }
  most = -shared.least(-most);
  if (!finite) throw InputError("the load overflows: scale the units of equation and boundary");
  if (most == 0) return {load};
  if (most < std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon())
    throw InputError("the load underflows: scale the units of equation and boundary");
  return {load, -std::ilogb(most)};
}

void scale(std::span<double> x, int exponent) {
  if (exponent == 0) return;
  const PowerOfTwo times(exponent);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = times(x[i]);
}

}  // namespace femcg::solver

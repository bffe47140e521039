#include "solver/problem/number_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

template <std::floating_point T>
[[noreturn]] void refuse() {
  const bool single = std::is_same_v<T, float>;
  throw InputError(fmt::format(
      "solver.precision: {} precision holds numbers from {:.1e} to {:.1e}, and the diagonal of the matrix leaves "
      "them; {}scale the units of equation and boundary",
      single ? "single" : "double", std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
      single ? "take double, or " : ""));
}

}  // namespace

template <std::floating_point T>
void require_range(const operators::Operator<T>& a) {
  constexpr double margin = 1e3;  // for the sums of a product
  constexpr double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max() / margin;
  operators::Vector<T> on_device(a.size(), a.device());
  a.diagonal(on_device);
  const operators::Vector<T> diagonal = operators::copied(on_device, operators::Device::host);
  // What is negative is no matter of precision.
  if (std::ranges::any_of(diagonal.span(), [&](T value) { return !(value < 0) && !(value >= least && value <= most); }))
    refuse<T>();
}

template void require_range(const operators::Operator<double>&);
template void require_range(const operators::Operator<float>&);

}  // namespace femcg::solver

#include "solver/problem/number_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

template <std::floating_point T>
operators::Vector<T> diagonal_on_host(const operators::Operator<T>& a) {
  operators::Vector<T> on_device(a.size(), a.device());
  a.diagonal(on_device);
  return operators::copied(on_device, operators::Device::host);
}

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
  const operators::Vector<T> diagonal = diagonal_on_host(a);
  bool fits = true;
#pragma omp parallel for schedule(static) reduction(&& : fits)
  for (std::int64_t i = 0; i < diagonal.size(); ++i)  // what is negative is no matter of precision
    fits = fits && (diagonal[i] < 0 || (diagonal[i] >= least && diagonal[i] <= most));
  if (!fits) refuse<T>();
}

template <std::floating_point T>
bool loses_energies(const operators::Operator<T>& a, double tolerance) {
  if (a.size() == 0) return false;
  const operators::Vector<T> diagonal = diagonal_on_host(a);
  const double largest = *std::ranges::max_element(diagonal.span());
  return tolerance * tolerance / largest < double{std::numeric_limits<T>::min()};
}

template bool loses_energies(const operators::Operator<double>&, double);
template bool loses_energies(const operators::Operator<float>&, double);
template void require_range(const operators::Operator<double>&);
template void require_range(const operators::Operator<float>&);

}  // namespace femcg::solver

#include "solver/problem/number_range.hpp"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "operators/backend/inverse_diagonal.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

template <std::floating_point T>
operators::DiagonalRange range_of(const operators::Operator<T>& a) {
  operators::Vector<T> diagonal(a.size(), a.device());
  a.diagonal(diagonal);
  return operators::range_of_diagonal(diagonal, diagonal.size());
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
  const operators::DiagonalRange range = range_of(a);
  // What is negative is no matter of precision.
  const bool fits = !range.has_nan && range.smallest >= least && range.largest <= most;
  if (!fits) refuse<T>();
}

template <std::floating_point T>
bool loses_energies(const operators::Operator<T>& a, double tolerance) {
  if (a.size() == 0) return false;
  return tolerance * tolerance / range_of(a).largest < double{std::numeric_limits<T>::min()};
}

template bool loses_energies(const operators::Operator<double>&, double);
template bool loses_energies(const operators::Operator<float>&, double);
template void require_range(const operators::Operator<double>&);
template void require_range(const operators::Operator<float>&);

}  // namespace femcg::solver

#include "solver/problem/number_range.hpp"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

template <std::floating_point T>
operators::Vector<T> diagonal_of(const operators::Operator<T>& a) {
  operators::Vector<T> diagonal(a.size(), a.device());
  a.diagonal(diagonal);
  return diagonal;
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
operators::Vector<T> diagonal_in_range(const operators::Operator<T>& a) {
  constexpr double margin = 1e3;  // for the sums of a product
  constexpr double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max() / margin;
  operators::Vector<T> diagonal = diagonal_of(a);
  const operators::DiagonalRange range = operators::range_of_diagonal(diagonal, diagonal.size());
  // Negative entries are checked elsewhere: they do not depend on the precision.
  const bool fits = !range.has_nan && range.smallest >= least && range.largest <= most;
  if (!fits) refuse<T>();
  return diagonal;
}

template <std::floating_point T>
bool loses_energies(const operators::Operator<T>& a, double tolerance) {
  if (a.size() == 0) return false;
  const double largest = operators::range_of_diagonal(diagonal_of(a), a.size()).largest;
  return tolerance * tolerance / largest < double{std::numeric_limits<T>::min()};
}

template bool loses_energies(const operators::Operator<double>&, double);
template bool loses_energies(const operators::Operator<float>&, double);
template operators::Vector<double> diagonal_in_range(const operators::Operator<double>&);
template operators::Vector<float> diagonal_in_range(const operators::Operator<float>&);

}  // namespace femcg::solver

#include "solver/preconditioners/coarse_solve.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

using operators::RectangularMatrix;
using operators::Vector;

namespace {

/// Connected component of each unknown, found by graph search.
std::vector<std::int32_t> components(const RectangularMatrix& a) {
  std::vector<std::int32_t> of(static_cast<std::size_t>(a.rows), -1), stack;
  std::int32_t count = 0;
  for (std::int32_t first = 0; first < a.rows; ++first) {
    if (of[first] >= 0) continue;
    of[first] = count;
    stack.assign(1, first);
    while (!stack.empty()) {
      const std::int32_t row = stack.back();
      stack.pop_back();
      for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k)
        if (of[a.column[k]] < 0) {
          of[a.column[k]] = count;
          stack.push_back(a.column[k]);
        }
    }
    ++count;
  }
  return of;
}

}  // namespace

RectangularMatrix dense_inverse(const RectangularMatrix& a) {
  const Eigen::Index n = a.rows;
  const std::vector<std::int32_t> component = components(a);
  std::vector<double> sum(component.size(), 0.0), size_of_entries(sum), most(sum);  // per component
  std::vector<std::int32_t> members(component.size(), 0);
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
  for (std::int32_t row = 0; row < a.rows; ++row) {
    const std::int32_t number = component[row];
    ++members[number];
    for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      dense(row, a.column[k]) = a.value[k];
      sum[number] += a.value[k];
      size_of_entries[number] += std::abs(a.value[k]);
      if (a.column[k] == row) most[number] = std::max(most[number], a.value[k]);
    }
  }
  constexpr double rounding = 1e-12;
  for (std::int32_t row = 0; row < a.rows; ++row) {
    const std::int32_t number = component[row];
    if (std::abs(sum[number]) > rounding * size_of_entries[number]) continue;
    for (std::int32_t column = 0; column < a.rows; ++column)
      if (component[column] == number) dense(row, column) += most[number] / members[number];
  }
  dense = (0.5 * (dense + dense.transpose())).eval();
  const Eigen::LLT<Eigen::MatrixXd> factors(dense);
  if (factors.info() != Eigen::Success)
    throw InputError("multigrid needs a positive definite matrix, but that of its coarsest level is not");
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(n, n);
  operators::for_shares([&](int share, int shares) {
    const Eigen::Index first = n * share / shares, last = n * (share + 1) / shares;
    auto columns = inverse.middleCols(first, last - first);
    factors.solveInPlace(columns);
  });

  RectangularMatrix result;
  result.rows = result.columns = a.rows;
  result.row_offsets = Vector<std::int64_t>(n + 1);
  result.column = Vector<std::int32_t>(n * n);
  result.value = Vector<double>(n * n);
  for (Eigen::Index row = 0; row <= n; ++row) result.row_offsets[row] = row * n;
  operators::for_each_row(n, [&](std::int64_t row) {
    for (std::int64_t column = 0; column < n; ++column) {
      result.column[row * n + column] = static_cast<std::int32_t>(column);
      result.value[row * n + column] = 0.5 * (inverse(row, column) + inverse(column, row));
    }
  });
  return result;
}

}  // namespace femcg::solver

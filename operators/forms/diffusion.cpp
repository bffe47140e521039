#include "operators/forms/diffusion.hpp"

#include <Eigen/Eigenvalues>
#include <limits>

namespace femcg::operators {

namespace {

template <int d>
double least_eigenvalue(const double* upper) {
  Eigen::Matrix<double, d, d> tensor;
  for (int i = 0; i < d; ++i)
    for (int j = 0; j < d; ++j) tensor(i, j) = upper[upper_index(i, j, d)];
  if (!tensor.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  return Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, d, d>>(tensor, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

}  // namespace

double least_eigenvalue(const double* values, int entries) {
  if (entries == 1) return values[0];
  return entries == upper_size(2) ? least_eigenvalue<2>(values) : least_eigenvalue<3>(values);
}

}  // namespace femcg::operators

#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/maps/matrix_subdomain.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/operator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/single_values.hpp"
#include "solver/benchmark/product_rounding.hpp"

namespace femcg::solver {

/// Repeatable pseudo-random numbers in [-1, 1) that single precision represents exactly.
std::vector<double> pseudo_random(std::int64_t count);

/// A product computed independently of every operator, with bounds on the rounding of the operators' products.
struct ReferenceProduct {
  std::vector<double> x, y;  ///< y = A x
  ProductRounding rounding;
};

/// The reference product of several processes, with vectors in the order of IndexMap. Collective.
ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::FormSubdomain& subdomain);
ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::MatrixSubdomain& subdomain);
/// Computed directly from the quadrature (operators::ReferenceOperator).
ReferenceProduct reference_product(const operators::BilinearForm& form, std::vector<double> x);
/// Computed row by row in long double.
ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix, std::vector<double> x);

/// Difference of an operator's product from the reference, and the bound that rounding allows, for the row or the
/// energy x'Ax whose difference is the largest fraction of its bound. Both are relative to the sum of absolute terms of
/// the row or energy.
struct Agreement {
  double difference = 0;  ///< infinity if a value is not finite or was not written
  double bound = 0;
  bool holds() const { return std::isfinite(difference) && difference <= bound; }
};

/// The worst of the agreements of all processes. Collective.
Agreement worst_of(const operators::Communicator& communicator, const Agreement& mine);

/// Unit roundoff of an operator with these options: of its working precision, or of its stored values if these are
/// single.
template <std::floating_point T>
double unit_roundoff(const operators::Options& options) {
  const bool rounded = operators::has_single_values<T>(options);
  return (rounded ? std::numeric_limits<float>::epsilon() : std::numeric_limits<T>::epsilon()) / 2;
}

/// Agreement of an operator with this unit roundoff. Rows are bounded by ProductRounding, the energy by |x|' times
/// these bounds plus n u |x|' terms for the sum of n products. With several right-hand sides (x times different powers
/// of two), the agreement of the worst column.
template <std::floating_point T>
Agreement agreement(const operators::Operator<T>& a, const ReferenceProduct& reference, double unit_roundoff,
                    int right_hand_sides = 1);

}  // namespace femcg::solver

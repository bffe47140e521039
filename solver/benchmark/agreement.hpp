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

/// Numbers from -1 to 1 that single precision holds too, the same every time.
std::vector<double> pseudo_random(std::int64_t count);

/// One product computed independently of every operator, and how far rounding may carry theirs from it.
struct ReferenceProduct {
  std::vector<double> x, y;  ///< y = A x
  ProductRounding rounding;
};

/// The reference product of several processes, with vectors in the order of IndexMap. Collective.
ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::FormSubdomain& subdomain);
ReferenceProduct reference_product(const operators::Communicator& communicator,
                                   const operators::MatrixSubdomain& subdomain);
/// Straight from the quadrature (operators::ReferenceOperator).
ReferenceProduct reference_product(const operators::BilinearForm& form, std::vector<double> x);
/// Row by row in long double.
ReferenceProduct reference_product(const operators::CsrMatrix<double>& matrix, std::vector<double> x);

/// How far an operator's product is from the reference, and how far rounding may carry it there: of the row, or of the
/// energy x'Ax, where the difference is the largest part of what rounding explains. Relative to the terms that are
/// added up in the row, or in the energy.
struct Agreement {
  double difference = 0;  ///< infinity where something is not finite or was not written
  double bound = 0;
  bool holds() const { return std::isfinite(difference) && difference <= bound; }
};

/// The one that is furthest off of those that several processes found. Collective.
Agreement worst_of(const operators::Communicator& communicator, const Agreement& mine);

/// The unit roundoff of an operator's numbers with these options: its working precision's, or that of what it stores.
template <std::floating_point T>
double unit_roundoff(const operators::Options& options) {
  const bool rounded = operators::has_single_values<T>(options);
  return (rounded ? std::numeric_limits<float>::epsilon() : std::numeric_limits<T>::epsilon()) / 2;
}

/// The agreement of an operator whose numbers have this unit roundoff. Rows are bounded by ProductRounding; the energy
/// by |x|' times these bounds, and n u |x|' terms for the sum of n products. In a product with several vectors each x
/// times a power of two of its own, the column that is furthest off.
template <std::floating_point T>
Agreement agreement(const operators::Operator<T>& a, const ReferenceProduct& reference, double unit_roundoff,
                    int right_hand_sides = 1);

}  // namespace femcg::solver

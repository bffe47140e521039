#pragma once

#include "operators/aggregation/rectangular_matrix.hpp"

namespace femcg::operators {

/// A B, row by row (Gustavson 1978), on the device of both: the same bits on every device and for any number of
/// threads.
RectangularMatrix product(const RectangularMatrix& a, const RectangularMatrix& b);
RectangularMatrix cuda_product(const RectangularMatrix& a, const RectangularMatrix& b);

/// The Galerkin product P' A P.
RectangularMatrix galerkin(const RectangularMatrix& a, const RectangularMatrix& p);

}  // namespace femcg::operators

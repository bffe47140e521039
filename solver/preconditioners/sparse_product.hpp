#pragma once

#include <vector>

#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// A B, row by row (Gustavson 1978). On all threads; the same for any number of them, to the bit.
operators::RectangularMatrix product(const operators::RectangularMatrix& a, const operators::RectangularMatrix& b);

/// Zero where a row has no diagonal entry.
std::vector<double> diagonal_of(const operators::RectangularMatrix& a);

/// The Galerkin product P' A P.
operators::RectangularMatrix galerkin(const operators::RectangularMatrix& a, const operators::RectangularMatrix& p);

}  // namespace femcg::solver

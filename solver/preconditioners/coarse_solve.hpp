#pragma once

#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// Dense inverse of a symmetric positive definite matrix. On a component of its graph whose kernel contains the
/// constants, A + c 1 1' is inverted. Throws InputError if the matrix is not positive definite.
operators::RectangularMatrix dense_inverse(const operators::RectangularMatrix& a);

}  // namespace femcg::solver

#pragma once

#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// The inverse of a symmetric positive definite matrix, all entries stored. On a component of its graph where constants
/// are in the kernel, A + c 1 1' is inverted. Throws InputError where the matrix is not positive definite.
operators::RectangularMatrix dense_inverse(const operators::RectangularMatrix& a);

}  // namespace femcg::solver

#pragma once

#include "operators/catalogue.hpp"

namespace femcg::operators {

/// The baseline: Eigen's product of a row-major sparse matrix and a dense vector, with Eigen's own threads, and CG's
/// vector passes as Eigen expressions. Eigen counts nonzeros in 32 bits: throws std::invalid_argument where there are
/// more. Columns and values are shared with the assembled matrix.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_eigen(const Ingredients<T>& from, const Options& given);

/// The memory that it takes.
template <std::floating_point T>
OperatorBytes bytes_of_eigen(const Extent<T>& of, const Options& given);

}  // namespace femcg::operators

#pragma once

#include <concepts>

#include "operators/operator.hpp"

namespace femcg::solver {

/// Diagonal of a matrix. Throws InputError, without place, if precision T cannot hold a matrix that is otherwise valid:
/// if a diagonal entry is too large, or too small to be distinguished from 0.
template <std::floating_point T>
operators::Vector<T> diagonal_in_range(const operators::Operator<T>& a);

/// True if the contributions of cells to p'Ap underflow in T before CG reaches the tolerance: directions are of size
/// tolerance / a_ii, for a right-hand side of about 1, and products with them of size tolerance. Operators by cells add
/// these contributions in T; operators with a matrix in double precision.
template <std::floating_point T>
bool loses_energies(const operators::Operator<T>& a, double tolerance);

extern template bool loses_energies(const operators::Operator<double>&, double);
extern template bool loses_energies(const operators::Operator<float>&, double);
extern template operators::Vector<double> diagonal_in_range(const operators::Operator<double>&);
extern template operators::Vector<float> diagonal_in_range(const operators::Operator<float>&);

}  // namespace femcg::solver

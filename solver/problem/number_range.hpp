#pragma once

#include <concepts>

#include "operators/operator.hpp"

namespace femcg::solver {

/// The diagonal of a matrix. Throws InputError, with no place, where the precision T cannot hold a matrix that is sound
/// in itself: where an entry of the diagonal is too large, or too small to be told from 0.
template <std::floating_point T>
operators::Vector<T> diagonal_in_range(const operators::Operator<T>& a);

/// True if what cells contribute to p'Ap becomes too small for T to be told from 0 before CG comes to the tolerance:
/// directions have tolerance / a_ii, for a right-hand side of about 1, and products with them the tolerance. Operators
/// that multiply cells add these up in T; those of a matrix do so in double precision.
template <std::floating_point T>
bool loses_energies(const operators::Operator<T>& a, double tolerance);

extern template bool loses_energies(const operators::Operator<double>&, double);
extern template bool loses_energies(const operators::Operator<float>&, double);
extern template operators::Vector<double> diagonal_in_range(const operators::Operator<double>&);
extern template operators::Vector<float> diagonal_in_range(const operators::Operator<float>&);

}  // namespace femcg::solver

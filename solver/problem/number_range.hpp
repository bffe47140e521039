#pragma once

#include <concepts>

#include "operators/operator.hpp"

namespace femcg::solver {

/// Throws InputError, with no place, where the precision T cannot hold a matrix that is sound in itself: where an entry
/// of its diagonal is too large, or too small to be told from 0.
template <std::floating_point T>
void require_range(const operators::Operator<T>& a);

extern template void require_range(const operators::Operator<double>&);
extern template void require_range(const operators::Operator<float>&);

}  // namespace femcg::solver

#pragma once

#include "operators/operator.hpp"

namespace femcg::operators {

/// A vector in the natural order of the unknowns, on any device, in the operator's ordering, on its device.
template <std::floating_point T>
Vector<T> to_ordering(const Operator<T>& a, const Vector<T>& natural);

/// A vector in the operator's ordering, on its device, in the natural order of the unknowns, there too.
template <std::floating_point T>
Vector<T> from_ordering(const Operator<T>& a, const Vector<T>& ordered);

}  // namespace femcg::operators

#pragma once

#include "operators/operator.hpp"

namespace femcg::operators {

/// A vector in the natural order of the unknowns, on any device, as the operator takes it, on the operator's device.
template <std::floating_point T>
Vector<T> to_basis(const Operator<T>& a, const Vector<T>& natural);

/// A vector as the operator takes and gives it, on any device, in the natural order, on the host.
template <std::floating_point T>
Vector<T> from_basis(const Operator<T>& a, const Vector<T>& in_basis);

}  // namespace femcg::operators

#pragma once

#include <optional>
#include <string>

#include "operators/operator.hpp"

namespace femcg::solver {

/// The inverse diagonal of `jacobi`, nothing for `none`: M^-1 of the CG loop. Throws InputError where a diagonal entry
/// is not positive, since the operator is then not positive definite.
template <std::floating_point T>
std::optional<operators::Vector<T>> make_preconditioner(const std::string& name, const operators::Operator<T>& a);

}  // namespace femcg::solver

#pragma once

#include <optional>

#include "operators/forms/programs/point_program.hpp"
#include "solver/coefficients/expression_scanner.hpp"

namespace femcg::solver {

/// Program of an expression that muParser accepts, with the same values to rounding; powers with exponents 2, 3 and 4
/// become products. Empty if it needs more registers than a program has.
std::optional<operators::PointProgram> program_of(const ScannedExpression& scanned);
/// The same with the derivatives along x, y and z: four functions.
std::optional<operators::PointProgram> program_with_gradient(const ScannedExpression& scanned);

}  // namespace femcg::solver

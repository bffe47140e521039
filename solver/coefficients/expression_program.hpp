#pragma once

#include <optional>

#include "operators/forms/programs/point_program.hpp"
#include "solver/coefficients/expression_scanner.hpp"

namespace femcg::solver {

/// The program of an expression that muParser accepts, with its values to rounding; powers with the exponents 2, 3 and
/// 4 are products. Nothing where it takes more registers than a program has.
std::optional<operators::PointProgram> program_of(const ScannedExpression& scanned);
/// The same with its derivatives along x, y and z: four functions.
std::optional<operators::PointProgram> program_with_gradient(const ScannedExpression& scanned);

}  // namespace femcg::solver

#pragma once

#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators {

/// The derivative of a value along x, y or z (axis 0, 1 or 2), by the rules of calculus. Functions with jumps have
/// derivative 0; minimum and maximum have that of the operand they equal.
PointProgramBuilder::Value derivative(PointProgramBuilder& builder, PointProgramBuilder::Value value, int axis);

}  // namespace femcg::operators

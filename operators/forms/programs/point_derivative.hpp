#pragma once

#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators {

/// The derivative of a value along x, y or z (axis 0, 1 or 2), by the rules of calculus, operation by operation. What
/// jumps has slope 0, and of two values the least, or greatest, has the slope of the one that it is.
PointProgramBuilder::Value derivative(PointProgramBuilder& builder, PointProgramBuilder::Value value, int axis);

}  // namespace femcg::operators

#pragma once

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// Entries of the matrix of a form in the space of a degree up to its own, from cells and degrees alone: a little more
/// than there are near the boundary.
double expected_entries(const BilinearForm& form, int degree);

}  // namespace femcg::operators

#pragma once

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// Estimate of the entries of a form's matrix in the space of a degree up to its own, from cells and degrees only:
/// slightly too many near the boundary.
double expected_entries(const BilinearForm& form, int degree);

}  // namespace femcg::operators

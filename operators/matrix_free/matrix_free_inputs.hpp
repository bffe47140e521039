#pragma once

#include <string_view>

#include "operators/bilinear_form.hpp"
#include "operators/matrix_free/matrix_free_cuda.hpp"

namespace femcg::operators {

/// What the GPU needs of a form. `geometry` is auto, stored or vertices (straight-sided cells, affine ones included).
/// Throws std::invalid_argument where the vertices do not tell all.
MatrixFreeInputs matrix_free_inputs(const BilinearForm& form, std::string_view geometry);

}  // namespace femcg::operators

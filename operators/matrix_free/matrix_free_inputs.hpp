#pragma once

#include <string_view>

#include "operators/bilinear_form.hpp"
#include "operators/matrix_free/matrix_free_cuda.hpp"

namespace femcg::operators {

/// Whether the Gauss points of quadrilaterals or hexahedra are not as many as their nodes.
bool any_points(const BilinearForm& form);

/// The patches of cells, for numbers of so many bytes.
PatchOptions matrix_free_patches(const BilinearForm& form, CellGeometry geometry, std::int64_t value_bytes);

/// What the GPU needs of a form. `geometry` is auto, stored or vertices (straight-sided cells, affine ones included);
/// patches have at most `patch` cells, 0: as many as is best. Throws std::invalid_argument where the vertices do not
/// tell all, or a kernel takes no such patches.
MatrixFreeInputs matrix_free_inputs(const BilinearForm& form, std::string_view geometry, int patch,
                                    std::int64_t value_bytes);

}  // namespace femcg::operators

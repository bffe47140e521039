#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// Classes of congruent cells: translations of each other with equal diffusion, so that their element matrices are
/// equal, except for Robin terms.
struct CongruenceClasses {
  std::vector<std::int32_t> representatives;  ///< a cell of each class
  std::vector<std::int32_t> class_of_cell;
};

/// Compares the cells' nodes relative to the first of each, up to rounding of the mesh's coordinates. `diffusion` has
/// one value for all cells or one per cell. Nothing if there are more than `most_classes` classes.
std::optional<CongruenceClasses> find_congruence_classes(const BilinearForm& form, std::span<const double> diffusion,
                                                         std::int64_t most_classes);

/// True if the diffusion is constant in cells and there are at most `most_classes` classes, by an estimate that is
/// exact to 2%.
bool has_congruent_cells(const BilinearForm& form, std::int64_t most_classes);

}  // namespace femcg::operators

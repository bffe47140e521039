#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// Cells whose element matrices, Robin terms apart, are one: translations of each other, with one diffusion.
struct IdenticalCells {
  std::vector<std::int32_t> representatives;  ///< a cell of each kind
  std::vector<std::int32_t> kind_of_cell;
};

/// Compares the cells' nodes, relative to the first of each, up to the rounding of the mesh's coordinates. `diffusion`
/// has one number for all cells or one a cell. Nothing if there are more than `most_kinds` of cells.
std::optional<IdenticalCells> find_identical_cells(const BilinearForm& form, std::span<const double> diffusion,
                                                   std::int64_t most_kinds);

}  // namespace femcg::operators

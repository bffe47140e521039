#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// Cells that point smoothers fail on: slivers, and single cells of a much greater diffusion than all round them. D^-1
/// A is small there for many local functions that no coarse level has. A suspect cell (operators::suspect_cells) is bad
/// where suspect ones make up a quarter of the assembled diagonal at two of its unknowns. None are where suspects are
/// so many that the mesh itself is such. `form` is of degree 1; `diagonal`: that of A.
std::vector<std::int32_t> bad_cells(const operators::BilinearForm& form, const std::vector<std::int32_t>& suspects,
                                    std::span<const double> diagonal);

/// The longest over the shortest extent of a cell, 1 for regular ones: of the map from the regular cell at its centre
/// the ratio of the singular values. The median over the cells, or some hundreds of them; 1 where there are none.
double stretching(const mesh::Mesh& mesh);

}  // namespace femcg::solver

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::solver {

/// Cells on which point smoothers fail: slivers, and single cells with a much greater diffusion than their
/// surroundings. There D^-1 A is small for many local functions that no coarse level represents. A suspect cell
/// (operators::suspect_cells) is bad if suspect cells contribute a quarter of the assembled diagonal at two of its
/// unknowns. Empty if suspects are so many that the mesh itself has this property. `form` is of degree 1; `diagonal`:
/// the diagonal of A.
std::vector<std::int32_t> bad_cells(const operators::BilinearForm& form, const std::vector<std::int32_t>& suspects,
                                    std::span<const double> diagonal);

/// Ratio of the longest to the shortest extent of a cell, 1 for regular ones: the ratio of the singular values of the
/// map from the regular cell at its centre. Median over the cells, or over a sample of some hundreds; 1 without cells.
double stretching(const operators::BilinearForm& form);

}  // namespace femcg::solver

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The diffusion of a form, in as few numbers as tell it.
struct CellDiffusion {
  bool constant_in_cells;      ///< in each of them; from cell to cell it may differ
  std::vector<double> values;  ///< one a cell, or else cells x quadrature points
};

/// Evaluated at the quadrature points of all cells unless the form knows where it is constant.
CellDiffusion diffusion_of_cells(const BilinearForm& form);
/// True if all values are the first one.
bool all_equal(std::span<const double> values);
/// True if it is constant in each cell; without the values, it is soon known that it is not.
bool is_constant_in_cells(const BilinearForm& form);

/// Calls work(cell, values) with the diffusion at the quadrature points of every cell, in parallel. What fails for the
/// first of the cells is thrown afterwards.
void for_each_cell_diffusion(const BilinearForm& form,
                             const std::function<void(std::int32_t, std::span<const double>)>& work);

}  // namespace femcg::operators

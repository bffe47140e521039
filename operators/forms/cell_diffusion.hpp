#pragma once

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

}  // namespace femcg::operators

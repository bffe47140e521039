#pragma once

#include <functional>
#include <span>
#include <vector>

#include "operators/backend/vector.hpp"
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

/// A range of ratios of the greatest value to the least in a cell.
struct JumpRange {
  double above, most;

  constexpr bool contains(const double* values, int points) const {
    double least = values[0], greatest = values[0];
    for (int q = 1; q < points; ++q) {
      least = values[q] < least ? values[q] : least;
      greatest = values[q] > greatest ? values[q] : greatest;
    }
    return greatest > above * least && greatest <= most * least;
  }
};

/// The cells in which the values at the quadrature points jump by that, ascending. Evaluated on the GPU where it is
/// asked for and the form has programs.
std::vector<std::int32_t> cells_with_jumps(const BilinearForm& form, const JumpRange& range, Device device);
/// The same of `values`, cells x points, on the GPU.
std::vector<std::int32_t> cuda_cells_with_jumps(const Vector<double>& values, int points, const JumpRange& range);

/// Calls work(cell, values) with the diffusion at the quadrature points of every cell, in parallel. What fails for the
/// first of the cells is thrown afterwards.
void for_each_cell_diffusion(const BilinearForm& form,
                             const std::function<void(std::int32_t, std::span<const double>)>& work);

}  // namespace femcg::operators

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The diffusion of a form, in the fewest values.
struct CellDiffusion {
  bool constant_in_cells;      ///< in each cell; it may differ between cells
  std::vector<double> values;  ///< [cells][entries] or [cells][quadrature points][entries]
};

/// Evaluates the diffusion at the quadrature points of all cells, unless the form knows it to be constant in cells.
CellDiffusion diffusion_of_cells(const BilinearForm& form);
/// The same times 2 pi x at the quadrature points, for a body of revolution, [cells][quadrature points][entries].
CellDiffusion diffusion_times_circumference(const BilinearForm& form);
/// True if all values, [count][entries], are equal.
bool all_equal(std::span<const double> values, int entries);
/// The least eigenvalue of each value, [count][entries].
std::vector<double> least_eigenvalues(std::span<const double> values, int entries);
/// True if the diffusion, and the factor 2 pi x of a body of revolution, is constant in each cell. Stops at the first
/// cell where it is not.
bool is_constant_in_cells(const BilinearForm& form);

/// A range of the ratio of the greatest to the least value in a cell.
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

/// The cells whose ratio of values at the quadrature points, least eigenvalues of a tensor, is in the range, ascending.
/// Evaluated on the GPU if `device` is a GPU and the form has programs.
std::vector<std::int32_t> cells_with_jumps(const BilinearForm& form, const JumpRange& range, Device device);
/// The same for values [cells][points] on the GPU.
std::vector<std::int32_t> cuda_cells_with_jumps(const Vector<double>& values, int points, const JumpRange& range);

/// Calls work(cell, values) with the diffusion at the quadrature points of every cell, [points][entries], in parallel.
/// Rethrows the exception of the first failing cell afterwards.
void for_each_cell_diffusion(const BilinearForm& form,
                             const std::function<void(std::int32_t, std::span<const double>)>& work);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/backend/copied_values.hpp"
#include "operators/forms/cell_factors.hpp"
#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators {

/// Tables for integrals of functions of a space on the GPU, by a quadrature of n points a direction.
struct IntegralTables {
  IntegralTables(const mesh::FunctionSpace& space, int quadrature);
  /// Bytes of GPU memory of an integration, results included.
  static std::int64_t bytes(const mesh::FunctionSpace& space, int quadrature);

  FactorInputs geometry;  ///< with diffusion 1
  Vector<double> values;  ///< of the space's basis functions, [dofs][points]
};

/// A function of a space on the GPU, with the dofs of all cells and the tables of its integrals.
class FunctionOnGpu {
 public:
  /// Copies the mesh and the dofs of its cells to the GPU. The space must outlive it.
  FunctionOnGpu(const mesh::FunctionSpace& space, int quadrature);
  /// Bytes of GPU memory, with those of an integration.
  static std::int64_t bytes(const mesh::FunctionSpace& space, int quadrature);
  /// True if a GPU, to which the function goes first, has integrals sooner than the processor. It has none of a body of
  /// revolution.
  static bool pays(const mesh::FunctionSpace& space) {
    constexpr std::int64_t entries = 4'000'000;
    if (space.mesh().axisymmetric) return false;
    return std::int64_t{space.mesh().cell_count()} * space.dofs_per_cell() >= entries;
  }

  /// Copies the coefficients [dof_count].
  void set(std::span<const double> dofs) { dofs_ = copied(dofs, Device::cuda); }

  const mesh::FunctionSpace& space() const { return *space_; }
  const IntegralTables& tables() const { return tables_; }
  const Vector<double>& dofs() const { return dofs_; }
  /// Dofs of the cells, [cells][dofs per cell]; empty on a structured grid.
  const Vector<std::int32_t>& cell_dofs() const { return cell_dofs_; }
  /// Tables of the dofs of a structured grid.
  const Vector<std::uint32_t>& grid_numbers() const { return grid_numbers_; }

 private:
  const mesh::FunctionSpace* space_;
  IntegralTables tables_;
  Vector<std::int32_t> cell_dofs_;
  Vector<std::uint32_t> grid_numbers_;
  Vector<double> dofs_;
};

/// The tables for the errors of functions.
struct ErrorTables : IntegralTables {
  ErrorTables(const mesh::FunctionSpace& space, int quadrature);

  Vector<double> positions;  ///< values of the geometry's basis functions, [nodes][points]
  Vector<double> slopes;     ///< of the space's basis functions, [reference axes][dofs][points]
};

/// The least and the greatest coefficient, NaN ignored.
struct Extremes {
  double least, greatest;
};
Extremes cuda_extremes(const FunctionOnGpu& u);

/// Integrals of 1 and u over each cell, [cells][2], on the GPU.
std::vector<double> cuda_integrals(const FunctionOnGpu& u);

/// True if the programs fit into the fixed number of variables and functions of a GPU thread.
bool cuda_takes(std::span<const PointProgram> programs);

/// Integrals of (u - u_h)^2, |grad (u - u_h)|^2, u^2 and |grad u|^2 over each cell, [cells][4], on the GPU. The program
/// of each region gives u, du/dx, du/dy and du/dz. Where one of these is not finite, some integrals of the cell are
/// not.
std::vector<double> cuda_error_squares(const FunctionOnGpu& u, const ErrorTables& tables,
                                       std::span<const PointProgram> exact_by_region);

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/forms/cell_layout.hpp"

namespace femcg::operators {

/// Input for the factors D_q = w_q |J| J^-1 kappa J^-T of all cells: the geometry's tables at the form's quadrature
/// points, the mesh's nodes, and the diffusion, in the fewest values.
struct FactorInputs {
  int dimension = 0, points = 0, nodes = 0;  ///< quadrature points and geometry nodes of a cell
  Vector<double> gradients;                  ///< of the geometry's basis: [points][reference axes][nodes]
  Vector<double> weights;                    ///< of the quadrature points
  std::int64_t cells = 0;
  Vector<double> coordinates;       ///< [mesh nodes][dimension]; empty if `box` gives them
  Vector<std::int32_t> cell_nodes;  ///< [cells][nodes]; empty if `box` gives them
  mesh::BoxNodes box;               ///< an implicit grid, in place of the empty lists
  int diffusion_entries = 1;        ///< Diffusion::entries
  /// [entries], [cells][entries], or [cells][points][entries]; times 2 pi x in a body of revolution.
  Vector<double> diffusion;
  std::int64_t diffusion_per_cell = 0;   ///< stride from cell to cell: 0, entries, or points * entries
  std::int64_t diffusion_per_point = 0;  ///< stride from point to point: 0 or entries

  int entries() const { return dimension * (dimension + 1) / 2; }
  /// Inputs of the first quadrature point alone, with weight 1: for D / w of affine cells with constant diffusion.
  FactorInputs at_first_point() const;
};

/// The inputs on a device. The diffusion is evaluated at the quadrature points of all cells unless the form knows it to
/// be constant in cells: on the GPU if `device` is a GPU and the form has programs, else on the host.
FactorInputs factor_inputs(const BilinearForm& form, Device device);

/// Sets the diffusion of inputs on the GPU by the form's programs. `geometry_values`: the geometry's basis functions at
/// the quadrature points, [points][nodes]. Returns false if a program is too long for a GPU, or a value is not > 0 or
/// not finite.
bool cuda_set_diffusion(const BilinearForm& form, const Vector<double>& geometry_values, FactorInputs& inputs);

/// Gradients of a form's basis at its quadrature points, [points][reference axes][dofs], on a device.
Vector<double> basis_gradients(const BilinearForm& form, Device device);

/// Computes the symmetric D_q of the cells in slots on the GPU, in double precision, by the formula of CellEvaluator:
/// the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12 22). Interleaved, a group of 32 slots is
/// [points][entries][32]; cell-major, [slots][entries][points], but in 3D [slots][pairs of entries][points][2]. Empty
/// slots (cell -1) are zero. Inputs and slots are on the GPU; in the interleaved layout the number of slots is a
/// multiple of 32.
template <std::floating_point T>
Vector<T> cuda_cell_factors(const FactorInputs& inputs, const Vector<std::int32_t>& cell_of_slot, CellLayout layout);

}  // namespace femcg::operators

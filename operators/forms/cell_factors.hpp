#pragma once

#include <concepts>
#include <cstdint>

#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/forms/cell_layout.hpp"

namespace femcg::operators {

/// Input for the factors D_q = w_q |J| kappa J^-1 J^-T of all cells: the geometry's tables at the form's quadrature
/// points, the mesh's nodes, and the diffusion, in as many numbers as it takes.
struct FactorInputs {
  int dimension = 0, points = 0, nodes = 0;  ///< quadrature points and geometry nodes of a cell
  Vector<double> gradients;                  ///< of the geometric basis: points x reference axes x nodes
  Vector<double> weights;                    ///< of the quadrature points
  std::int64_t cells = 0;
  Vector<double> coordinates;            ///< mesh nodes x dimension; empty where the mesh's is
  Vector<std::int32_t> cell_nodes;       ///< cells x nodes, likewise
  mesh::BoxNodes box;                    ///< what is said in place of empty lists
  Vector<double> diffusion;              ///< one number, one a cell, or cells x points
  std::int64_t diffusion_per_cell = 0;   ///< steps in it from cell to cell: 0, 1 or points
  std::int64_t diffusion_per_point = 0;  ///< and from point to point: 0 or 1

  int entries() const { return dimension * (dimension + 1) / 2; }
  /// The first quadrature point alone, with weight 1: D / w of affine cells with a constant diffusion.
  FactorInputs at_first_point() const;
};

/// On a device. The diffusion is evaluated at the quadrature points of all cells unless the form knows where it is
/// constant: on the GPU, where it is asked for there and the form has programs, else on the host.
FactorInputs factor_inputs(const BilinearForm& form, Device device);

/// Sets the diffusion of inputs that are on the GPU, by the form's programs there; `geometry_values` are the functions
/// of the geometry at the quadrature points, points x nodes. Returns false where a program is too long for a GPU, or a
/// value is not above 0 or not finite.
bool cuda_set_diffusion(const BilinearForm& form, const Vector<double>& geometry_values, FactorInputs& inputs);

/// Gradients of a form's basis at its quadrature points, points x reference axes x dofs, on a device.
Vector<double> basis_gradients(const BilinearForm& form, Device device);

/// The symmetric D_q of the cells in slots, computed on the GPU in double precision by the formula of CellEvaluator:
/// the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12 22). Interleaved, a group of 32 slots has points x
/// entries x 32 numbers; cell by cell, slots x entries x points, but in 3D slots x pairs of entries x points x the two
/// of a pair. Empty slots (cell -1) have zeros. Inputs and slots are on the GPU; of the interleaved layout, slots are a
/// multiple of 32.
template <std::floating_point T>
Vector<T> cuda_cell_factors(const FactorInputs& inputs, const Vector<std::int32_t>& cell_of_slot, CellLayout layout);

}  // namespace femcg::operators

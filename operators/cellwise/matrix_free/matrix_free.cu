// y = sum_c P_c' (B' D B) (P_c x) on the GPU without a matrix, patch by patch:
// operators/cellwise/cell_loops/patch_product.cuh treats shared unknowns; tensor_cells.cuh, hexahedron_cells.cuh,
// hexahedron_warp_cells.cuh, tensor_any_points.cuh, simplex_cells.cuh and simplex_warp_cells.cuh have the threads of a
// cell.
//
// A product moves, besides x and y once and the patches' lists (about 2 n / m bytes per unknown, with n dofs and m new
// unknowns per cell): d words per cell (boxes), d (d + 1) / 2 words per cell (affine), the values of its vertices
// (straight-sided), one word per pair of dofs (few dofs), or d (d + 1) / 2 words per quadrature point (stored).
// Contributions to the interface of patches are gathered in a fixed order: two runs give the same bits.

#include "operators/cellwise/matrix_free/matrix_free.hpp"

#include "operators/cellwise/matrix_free/matrix_free_inputs.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_cuda(const MatrixFreeInputs& inputs) {
  if (!mesh::is_tensor(inputs.form->space->mesh().shape)) return make_matrix_free_simplices<T>(inputs);
  return inputs.dimension == 2 ? make_matrix_free_quadrilaterals<T>(inputs) : make_matrix_free_hexahedra<T>(inputs);
}

namespace {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  return make_matrix_free_cuda<T>(
      matrix_free_inputs(*from.form, chosen_matrix_free(*from.form, Device::cuda, given), sizeof(T)));
}

}  // namespace

template std::unique_ptr<Operator<float>> make_matrix_free_cuda(const MatrixFreeInputs&);

Makers matrix_free_on_gpu() { return {make<double>, make<float>}; }

}  // namespace femcg::operators

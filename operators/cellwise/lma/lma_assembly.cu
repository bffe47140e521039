// The element matrices of lma, in its layout.

#include "operators/cellwise/lma/lma_layout.cuh"
#include "operators/forms/element_matrices.cuh"

namespace femcg::operators {

template <std::floating_point T>
Vector<T> assemble_on_gpu(const LmaInputs& inputs) {
  const int dofs = inputs.patches.dofs;
  const LmaLayout<T> layout(dofs, inputs.stored_once());
  const Vector<std::int32_t> cell_of_matrix = copied(inputs.cell_of_matrix, Device::cuda);
  Vector<T> values(layout.size(cell_of_matrix.size()), Device::cuda);
  if (layout.columns)
    cuda_clear(values.data() + values.size() - layout.together, layout.together * std::int64_t{sizeof(T)});
  cuda::launch_element_matrices(inputs.factors, inputs.gradients, dofs, layout, cell_of_matrix.data(),
                                cell_of_matrix.size(), values.data());
  cuda::replace_element_matrices(layout, dofs, inputs.robin_places, inputs.robin_matrices, values.data());
  return values;
}

template Vector<double> assemble_on_gpu(const LmaInputs&);
template Vector<float> assemble_on_gpu(const LmaInputs&);

}  // namespace femcg::operators

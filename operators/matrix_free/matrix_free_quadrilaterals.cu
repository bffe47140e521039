#include "operators/matrix_free/matrix_free_tensor.cuh"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_quadrilaterals(const MatrixFreeInputs& inputs) {
  switch (inputs.degree) {
    case 1:
      return make_tensor<T, 2, 2>(inputs);
    case 2:
      return make_tensor<T, 2, 3>(inputs);
    case 3:
      return make_tensor<T, 2, 4>(inputs);
    default:
      return make_tensor<T, 2, 5>(inputs);
  }
}

template std::unique_ptr<Operator<double>> make_matrix_free_quadrilaterals(const MatrixFreeInputs&);
template std::unique_ptr<Operator<float>> make_matrix_free_quadrilaterals(const MatrixFreeInputs&);

}  // namespace femcg::operators

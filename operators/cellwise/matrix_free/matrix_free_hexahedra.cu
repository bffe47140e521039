#include "operators/cellwise/matrix_free/matrix_free_tensor.cuh"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_hexahedra(const MatrixFreeInputs& inputs) {
  return make_tensor<T, 3>(inputs);
}

template std::unique_ptr<Operator<double>> make_matrix_free_hexahedra(const MatrixFreeInputs&);
template std::unique_ptr<Operator<float>> make_matrix_free_hexahedra(const MatrixFreeInputs&);

}  // namespace femcg::operators

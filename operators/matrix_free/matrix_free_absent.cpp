// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/matrix_free/matrix_free_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_cuda(const MatrixFreeInputs&) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_matrix_free_cuda(const MatrixFreeInputs&);
template std::unique_ptr<Operator<float>> make_matrix_free_cuda(const MatrixFreeInputs&);

}  // namespace femcg::operators

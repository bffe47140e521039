// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/lma/lma_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_cuda(const LmaInputs&, ConflictResolution) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_lma_cuda(const LmaInputs&, ConflictResolution);
template std::unique_ptr<Operator<float>> make_lma_cuda(const LmaInputs&, ConflictResolution);

}  // namespace femcg::operators

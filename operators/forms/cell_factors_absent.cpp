// The factors of cells in a build without CUDA, where nothing can ask for them.

#include <stdexcept>

#include "operators/forms/cell_factors.hpp"

namespace femcg::operators {

template <std::floating_point T>
Vector<T> cuda_cell_factors(const FactorInputs&, const Vector<std::int32_t>&, PlaceLayout) {
  throw std::logic_error("this build has no CUDA");
}

bool cuda_set_diffusion(const BilinearForm&, const Vector<double>&, FactorInputs&) {
  throw std::logic_error("this build has no CUDA");
}

template Vector<double> cuda_cell_factors(const FactorInputs&, const Vector<std::int32_t>&, PlaceLayout);
template Vector<float> cuda_cell_factors(const FactorInputs&, const Vector<std::int32_t>&, PlaceLayout);

}  // namespace femcg::operators

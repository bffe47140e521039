// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/ellpack/ellpack_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const CsrMatrix<T>&, const EllpackArrays<T>&) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_ellpack_cuda(const CsrMatrix<double>&, const EllpackArrays<double>&);
template std::unique_ptr<Operator<float>> make_ellpack_cuda(const CsrMatrix<float>&, const EllpackArrays<float>&);

}  // namespace femcg::operators

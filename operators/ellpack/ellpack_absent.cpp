// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/ellpack/ellpack_matrix.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const EllpackMatrix<T>&, const CsrMatrix<T>&, Vector<T>) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_ellpack_cuda(const EllpackMatrix<double>&, const CsrMatrix<double>&,
                                                             Vector<double>);
template std::unique_ptr<Operator<float>> make_ellpack_cuda(const EllpackMatrix<float>&, const CsrMatrix<float>&,
                                                            Vector<float>);

}  // namespace femcg::operators

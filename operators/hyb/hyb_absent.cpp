// What stands for the GPU's hyb in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/hyb/hyb_matrix.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb_cuda(const HybMatrix<T>&, const CsrMatrix<T>&, Vector<T>) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_hyb_cuda(const HybMatrix<double>&, const CsrMatrix<double>&,
                                                         Vector<double>);
template std::unique_ptr<Operator<float>> make_hyb_cuda(const HybMatrix<float>&, const CsrMatrix<float>&,
                                                        Vector<float>);

}  // namespace femcg::operators

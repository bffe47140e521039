// What stands for the GPU's jad in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/jad/jad_matrix.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_jad_cuda(const JaggedDiagonals<T>&, const CsrMatrix<T>&, Vector<T>) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_jad_cuda(const JaggedDiagonals<double>&, const CsrMatrix<double>&,
                                                         Vector<double>);
template std::unique_ptr<Operator<float>> make_jad_cuda(const JaggedDiagonals<float>&, const CsrMatrix<float>&,
                                                        Vector<float>);

}  // namespace femcg::operators

// What stands for the GPU's csr-aligned in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/csr_aligned/csr_aligned_matrix.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_aligned_cuda(const AlignedRows<T>&, const CsrMatrix<T>&, Vector<T>) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_csr_aligned_cuda(const AlignedRows<double>&, const CsrMatrix<double>&,
                                                                 Vector<double>);
template std::unique_ptr<Operator<float>> make_csr_aligned_cuda(const AlignedRows<float>&, const CsrMatrix<float>&,
                                                                Vector<float>);

}  // namespace femcg::operators

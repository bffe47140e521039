// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/vendor/cusparse_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr_cuda(const CsrMatrix<T>&, int) {
  throw std::logic_error("this build has no CUDA");
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell_cuda(const CsrMatrix<T>&) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_cusparse_csr_cuda(const CsrMatrix<double>&, int);
template std::unique_ptr<Operator<float>> make_cusparse_csr_cuda(const CsrMatrix<float>&, int);
template std::unique_ptr<Operator<double>> make_cusparse_sell_cuda(const CsrMatrix<double>&);
template std::unique_ptr<Operator<float>> make_cusparse_sell_cuda(const CsrMatrix<float>&);

}  // namespace femcg::operators

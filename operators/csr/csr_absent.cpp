// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/csr/csr_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_streamed_csr(const CsrMatrix<Value>&, Vector<T>, const CsrLaunch&) {
  throw std::logic_error("this build has no CUDA");
}
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>&, Vector<T>, const CsrLaunch&) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_streamed_csr(const CsrMatrix<double>&, Vector<double>,
                                                             const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_streamed_csr(const CsrMatrix<float>&, Vector<double>, const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_streamed_csr(const CsrMatrix<float>&, Vector<float>, const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<double>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_cooperative_csr(const CsrMatrix<float>&, Vector<double>,
                                                                const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_cooperative_csr(const CsrMatrix<float>&, Vector<float>,
                                                               const CsrLaunch&);

}  // namespace femcg::operators

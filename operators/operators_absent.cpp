// The GPU's operators in a build without CUDA, where nothing can ask for them.

#include <stdexcept>

#include "operators/csr/csr_cuda.hpp"
#include "operators/ellpack/ellpack_cuda.hpp"
#include "operators/sell/sell_cuda.hpp"
#include "operators/vendor/cusparse_cuda.hpp"

namespace femcg::operators {

namespace {

[[noreturn]] void absent() { throw std::logic_error("this build has no CUDA"); }

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_cuda(const CsrMatrix<T>&, const CsrLaunch&) {
  absent();
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const CsrMatrix<T>&, const EllpackArrays<T>&) {
  absent();
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_sell_cuda(const CsrMatrix<T>&, const SellMatrix<T>&, std::string_view) {
  absent();
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr_cuda(const CsrMatrix<T>&, int) {
  absent();
}
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell_cuda(const CsrMatrix<T>&) {
  absent();
}

template std::unique_ptr<Operator<double>> make_cusparse_csr_cuda(const CsrMatrix<double>&, int);
template std::unique_ptr<Operator<float>> make_cusparse_csr_cuda(const CsrMatrix<float>&, int);
template std::unique_ptr<Operator<double>> make_cusparse_sell_cuda(const CsrMatrix<double>&);
template std::unique_ptr<Operator<float>> make_cusparse_sell_cuda(const CsrMatrix<float>&);
template std::unique_ptr<Operator<double>> make_csr_cuda(const CsrMatrix<double>&, const CsrLaunch&);
template std::unique_ptr<Operator<float>> make_csr_cuda(const CsrMatrix<float>&, const CsrLaunch&);
template std::unique_ptr<Operator<double>> make_ellpack_cuda(const CsrMatrix<double>&, const EllpackArrays<double>&);
template std::unique_ptr<Operator<float>> make_ellpack_cuda(const CsrMatrix<float>&, const EllpackArrays<float>&);
template std::unique_ptr<Operator<double>> make_sell_cuda(const CsrMatrix<double>&, const SellMatrix<double>&,
                                                          std::string_view);
template std::unique_ptr<Operator<float>> make_sell_cuda(const CsrMatrix<float>&, const SellMatrix<float>&,
                                                         std::string_view);

}  // namespace femcg::operators

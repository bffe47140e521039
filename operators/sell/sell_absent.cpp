// The GPU's part of this operator in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/sell/sell_cuda.hpp"

namespace femcg::operators {

template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_sell_cuda(const SellMatrix<Value>&, const CsrMatrix<Value>&, Vector<T>,
                                            std::string_view) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_sell_cuda(const SellMatrix<double>&, const CsrMatrix<double>&,
                                                          Vector<double>, std::string_view);
template std::unique_ptr<Operator<double>> make_sell_cuda(const SellMatrix<float>&, const CsrMatrix<float>&,
                                                          Vector<double>, std::string_view);
template std::unique_ptr<Operator<float>> make_sell_cuda(const SellMatrix<float>&, const CsrMatrix<float>&,
                                                         Vector<float>, std::string_view);

}  // namespace femcg::operators

// What stands for the GPU's ellr-t in a build without CUDA, where nothing can ask for it.

#include <stdexcept>

#include "operators/ellr_t/ellr_t_matrix.hpp"

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellr_t_cuda(const EllrTMatrix<T>&, int, const CsrMatrix<T>&, Vector<T>) {
  throw std::logic_error("this build has no CUDA");
}

template std::unique_ptr<Operator<double>> make_ellr_t_cuda(const EllrTMatrix<double>&, int, const CsrMatrix<double>&,
                                                            Vector<double>);
template std::unique_ptr<Operator<float>> make_ellr_t_cuda(const EllrTMatrix<float>&, int, const CsrMatrix<float>&,
                                                           Vector<float>);

}  // namespace femcg::operators

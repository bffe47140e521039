// A build without CUDA.

#include <stdexcept>

#include "operators/forms/check/form_product_on_gpu.hpp"

namespace femcg::operators {

class FormProductOnGpu::Products {};
FormProductOnGpu::FormProductOnGpu(const BilinearForm&, Unknowns) {
  throw std::runtime_error("this build has no CUDA");
}
std::int64_t FormProductOnGpu::bytes(const BilinearForm&, Unknowns) { return 0; }
FormProductOnGpu::~FormProductOnGpu() = default;
void FormProductOnGpu::residual(const Vector<double>&, const Vector<double>&, Vector<double>&, Vector<double>&) const {}

}  // namespace femcg::operators

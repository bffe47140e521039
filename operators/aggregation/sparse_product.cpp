#include "operators/aggregation/sparse_product.hpp"

#include "operators/aggregation/on_host.hpp"
#include "operators/aggregation/product_row.hpp"

namespace femcg::operators {

RectangularMatrix product(const RectangularMatrix& a, const RectangularMatrix& b) {
  return a.device() == Device::cuda ? cuda_product(a, b) : product_on(OnHost(), a, b);
}

RectangularMatrix galerkin(const RectangularMatrix& a, const RectangularMatrix& p) {
  const RectangularMatrix ap = product(a, p);
  return product(transposed(p), ap);
}

}  // namespace femcg::operators

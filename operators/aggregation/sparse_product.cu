// Sparse products on a GPU, one thread a row: rows are merged in the L1 cache, as those of P and A P are short.

#include "operators/aggregation/on_gpu.cuh"
#include "operators/aggregation/product_row.hpp"
#include "operators/aggregation/sparse_product.hpp"

namespace femcg::operators {

RectangularMatrix cuda_product(const RectangularMatrix& a, const RectangularMatrix& b) {
  return product_on(OnGpu(), a, b);
}

}  // namespace femcg::operators

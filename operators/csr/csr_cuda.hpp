#pragma once

#include <memory>

#include "operators/operator.hpp"
#include "operators/sparse/csr_matrix.hpp"

namespace femcg::operators {

/// How the product is spread over threads.
struct CsrLaunch {
  int coop = 0;    ///< threads per row; 0: streamed, a block per run of rows
  int repeat = 1;  ///< rows that a group of threads takes, one after the other
  int block_size = 128;
  bool narrow = true;  ///< 16-bit columns where they fit (streamed only)
  bool wide = true;    ///< 32-bit columns where the others do not fit, or are not asked for
};

/// The product on the GPU of a matrix on the host. Values are of T, or of single precision in a loop of double
/// precision. Throws std::invalid_argument where 16-bit columns are insisted on and do not fit.
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_streamed_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                               const CsrLaunch& launch);
template <std::floating_point T, std::floating_point Value>
std::unique_ptr<Operator<T>> make_cooperative_csr(const CsrMatrix<Value>& matrix, Vector<T> diagonal,
                                                  const CsrLaunch& launch);

}  // namespace femcg::operators

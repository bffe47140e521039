#pragma once

#include <memory>

#include "operators/operator.hpp"
#include "operators/sparse/csr_matrix.hpp"

namespace femcg::operators {

/// `algorithm` 0 is cuSPARSE's default, 1 and 2 are CUSPARSE_SPMV_CSR_ALG1 and 2.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_csr_cuda(const CsrMatrix<T>& matrix, int algorithm);
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_cusparse_sell_cuda(const CsrMatrix<T>& matrix);

}  // namespace femcg::operators

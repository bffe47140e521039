#pragma once

#include <memory>

#include "operators/csr_matrix.hpp"
#include "operators/operator.hpp"

namespace femcg::operators {

/// The arrays of ELLPACK on the host, and what the GPU makes of them.
template <std::floating_point T>
struct EllpackArrays {
  std::int64_t nonzeros = 0, width = 0, stride = 0;
  const Vector<T>* values = nullptr;  ///< width x stride
  const Vector<std::int32_t>* columns = nullptr;
  const Vector<std::int32_t>* lengths = nullptr;  ///< ELLPACK-R; null otherwise
};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const CsrMatrix<T>& matrix, const EllpackArrays<T>& arrays);

}  // namespace femcg::operators

#pragma once

#include <memory>

#include "operators/backend/passes/vector_kernels.hpp"

namespace femcg::operators {

/// CG's vector passes as cuBLAS calls, scalars on the GPU. Between `update` and `direction` they keep alpha and M^-1 r.
template <std::floating_point T>
std::unique_ptr<VectorKernels<T>> make_cublas_vectors();

}  // namespace femcg::operators

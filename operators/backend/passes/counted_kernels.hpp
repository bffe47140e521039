#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/backend/passes/vector_kernels.hpp"

namespace femcg::operators {

namespace cuda {
struct ProcessSums;
}

/// Vector kernels of the GPU whose sums run over the first `counted` entries only, and, if `processes` is not null,
/// over all processes. Throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
std::unique_ptr<VectorKernels<T>> make_cuda_vector_kernels(std::int64_t counted,
                                                           const cuda::ProcessSums* processes = nullptr);

/// The same for multi-vectors, with sums over the first `counted` rows.
template <std::floating_point T>
std::unique_ptr<MultiVectorKernels<T>> make_cuda_multi_vector_kernels(std::int64_t counted,
                                                                      const cuda::ProcessSums* processes = nullptr);

}  // namespace femcg::operators

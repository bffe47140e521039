#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/passes/column_operations.hpp"
#include "operators/backend/passes/vector_operations.hpp"

namespace femcg::operators {

namespace cuda {
struct ProcessSums;
}

/// The passes of the GPU whose sums run over the first `counted` entries alone, and where `processes` is not null then
/// over these. Throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
std::unique_ptr<VectorOperations<T>> make_cuda_vector_operations(std::int64_t counted,
                                                                 const cuda::ProcessSums* processes = nullptr);

/// The same of several systems, of which the first `counted` rows count.
template <std::floating_point T>
std::unique_ptr<ColumnOperations<T>> make_cuda_column_operations(std::int64_t counted,
                                                                 const cuda::ProcessSums* processes = nullptr);

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/backend/vector_operations.hpp"

namespace femcg::operators {

/// The passes of the GPU whose sums run over the first `counted` entries alone. Throws std::runtime_error in a build
/// without CUDA.
template <std::floating_point T>
std::unique_ptr<VectorOperations<T>> make_cuda_vector_operations(std::int64_t counted);

}  // namespace femcg::operators

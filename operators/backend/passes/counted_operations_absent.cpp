// A build without CUDA.

#include "operators/backend/passes/counted_operations.hpp"

#include <stdexcept>

namespace femcg::operators {

template <std::floating_point T>
std::unique_ptr<VectorOperations<T>> make_cuda_vector_operations(std::int64_t, const cuda::ProcessSums*) {
  throw std::runtime_error("this build has no CUDA");
}
template std::unique_ptr<VectorOperations<double>> make_cuda_vector_operations(std::int64_t, const cuda::ProcessSums*);
template std::unique_ptr<VectorOperations<float>> make_cuda_vector_operations(std::int64_t, const cuda::ProcessSums*);

template <std::floating_point T>
std::unique_ptr<ColumnOperations<T>> make_cuda_column_operations(std::int64_t, const cuda::ProcessSums*) {
  throw std::runtime_error("this build has no CUDA");
}
template std::unique_ptr<ColumnOperations<double>> make_cuda_column_operations(std::int64_t, const cuda::ProcessSums*);
template std::unique_ptr<ColumnOperations<float>> make_cuda_column_operations(std::int64_t, const cuda::ProcessSums*);

}  // namespace femcg::operators

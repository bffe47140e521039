#include "operators/backend/device.hpp"

#include <stdexcept>
#include <string>

#include "operators/backend/columns.hpp"
#include "operators/backend/host_copies.hpp"
#include "operators/backend/passes/block_operations.hpp"
#include "operators/backend/passes/column_operations.hpp"
#include "operators/backend/passes/vector_operations.hpp"
#include "operators/backend/permutation.hpp"

namespace femcg::operators {

bool built_with_cuda() { return false; }

std::vector<DeviceProperties> cuda_devices() { return {}; }
void choose_cuda_device(int number) {
  throw std::runtime_error("cuda:" + std::to_string(number) +
                           " was asked for, but there is none: this build has no CUDA");
}
std::optional<int> cuda_device_in_use(std::string* reason) {
  if (reason != nullptr) *reason = "this build has no CUDA";
  return std::nullopt;
}

std::optional<GpuClocks> cuda_clocks() { return std::nullopt; }
std::string cuda_driver() { return ""; }
double cuda_copy_bandwidth(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void* cuda_allocate(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void cuda_release(void*) noexcept {}
double cuda_link_bandwidth(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void* cuda_allocate_page_locked(std::int64_t) { throw std::runtime_error("this build has no CUDA"); }
void cuda_release_page_locked(void*) noexcept {}
void cuda_clear(void*, std::int64_t) {}
std::int64_t cuda_available_bytes() { return 0; }
int cuda_multiprocessors() { return 0; }
void synchronize(Device) {}
void copy_bytes(const void* from, Device, void* to, Device, std::int64_t bytes) { copy_on_host(from, to, bytes); }
template <std::floating_point T>
const VectorOperations<T>& cuda_vector_operations() {
  throw std::runtime_error("this build has no CUDA");
}
template const VectorOperations<double>& cuda_vector_operations();
template const VectorOperations<float>& cuda_vector_operations();
template <std::floating_point T>
void cuda_chebyshev_first(double, const Vector<T>&, const InverseDiagonal&, Vector<T>&, Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_chebyshev_next(double, double, const Vector<T>&, const Vector<T>&, const InverseDiagonal&, Vector<T>&,
                         Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template void cuda_chebyshev_first(double, const Vector<double>&, const InverseDiagonal&, Vector<double>&,
                                   Vector<double>&);
template void cuda_chebyshev_first(double, const Vector<float>&, const InverseDiagonal&, Vector<float>&,
                                   Vector<float>&);
template void cuda_chebyshev_next(double, double, const Vector<double>&, const Vector<double>&, const InverseDiagonal&,
                                  Vector<double>&, Vector<double>&);
template void cuda_chebyshev_next(double, double, const Vector<float>&, const Vector<float>&, const InverseDiagonal&,
                                  Vector<float>&, Vector<float>&);
template <std::floating_point T>
DiagonalRange cuda_range_of_diagonal(const Vector<T>&, std::int64_t) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_invert_diagonal(const Vector<T>&, double, InverseDiagonal&) {
  throw std::runtime_error("this build has no CUDA");
}
template DiagonalRange cuda_range_of_diagonal(const Vector<double>&, std::int64_t);
template DiagonalRange cuda_range_of_diagonal(const Vector<float>&, std::int64_t);
template void cuda_invert_diagonal(const Vector<double>&, double, InverseDiagonal&);
template void cuda_invert_diagonal(const Vector<float>&, double, InverseDiagonal&);
template <std::floating_point T>
std::unique_ptr<BlockOperations<T>> make_cuda_block_operations() {
  throw std::runtime_error("this build has no CUDA");
}
template std::unique_ptr<BlockOperations<double>> make_cuda_block_operations();
template std::unique_ptr<BlockOperations<float>> make_cuda_block_operations();
template <std::floating_point T>
const ColumnOperations<T>& cuda_column_operations() {
  throw std::runtime_error("this build has no CUDA");
}
template const ColumnOperations<double>& cuda_column_operations();
template const ColumnOperations<float>& cuda_column_operations();
template <std::floating_point T>
void cuda_set_column(const Vector<T>&, const Vector<std::int32_t>&, int, Columns<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_get_column(const Columns<T>&, int, const Vector<std::int32_t>&, Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_get_columns(const Columns<T>&, int, std::span<Vector<T>>) {
  refuse();
}
template <std::floating_point T>
void cuda_set_columns(std::span<const Vector<T>>, int, Columns<T>&) {
  refuse();
}
template void cuda_get_columns(const Columns<double>&, int, std::span<Vector<double>>);
template void cuda_get_columns(const Columns<float>&, int, std::span<Vector<float>>);
template void cuda_set_columns(std::span<const Vector<double>>, int, Columns<double>&);
template void cuda_set_columns(std::span<const Vector<float>>, int, Columns<float>&);
template void cuda_set_column(const Vector<double>&, const Vector<std::int32_t>&, int, Columns<double>&);
template void cuda_set_column(const Vector<float>&, const Vector<std::int32_t>&, int, Columns<float>&);
template void cuda_get_column(const Columns<double>&, int, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_get_column(const Columns<float>&, int, const Vector<std::int32_t>&, Vector<float>&);
template <std::floating_point T>
void cuda_gather(const Vector<T>&, const Vector<std::int32_t>&, Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_scatter(const Vector<T>&, const Vector<std::int32_t>&, Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template void cuda_gather(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_gather(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_scatter(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter(const Vector<float>&, const Vector<std::int32_t>&, Vector<float>&);
template <std::floating_point T>
void cuda_gather_rounded(const Vector<double>&, const Vector<std::int32_t>&, Vector<T>&) {
  throw std::runtime_error("this build has no CUDA");
}
template <std::floating_point T>
void cuda_scatter_added(const Vector<T>&, const Vector<std::int32_t>&, Vector<double>&) {
  throw std::runtime_error("this build has no CUDA");
}
template void cuda_gather_rounded(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_gather_rounded(const Vector<double>&, const Vector<std::int32_t>&, Vector<float>&);
template void cuda_scatter_added(const Vector<double>&, const Vector<std::int32_t>&, Vector<double>&);
template void cuda_scatter_added(const Vector<float>&, const Vector<std::int32_t>&, Vector<double>&);

}  // namespace femcg::operators

// Stands in for every .cu of a build without CUDA: no GPU is found, so that nobody asks for work of one.

#include <stdexcept>
#include <string>

#include "operators/aggregation/aggregation.hpp"
#include "operators/aggregation/sparse_product.hpp"
#include "operators/backend/cuda_graph.hpp"
#include "operators/backend/device.hpp"
#include "operators/backend/host_copies.hpp"
#include "operators/backend/passes/block_cg_kernels.hpp"
#include "operators/backend/passes/counted_kernels.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/backend/side_stream.hpp"
#include "operators/catalogue.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/gpu/gpu_persistent_cg.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/check/cell_integrals.hpp"
#include "operators/forms/check/form_product_on_gpu.hpp"
#include "operators/forms/suspect_cells.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "operators/transfers/cell_transfer.hpp"
#include "operators/transfers/local_solves.hpp"
#include "operators/transfers/tensor_solves.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

namespace {

[[noreturn]] void refuse() { throw std::runtime_error("this build has no CUDA"); }

}  // namespace

std::span<const CudaRow> cuda_rows() { return {}; }

// Devices and memory. Host memory is all that is ever copied.
bool built_with_cuda() { return false; }
std::vector<DeviceProperties> cuda_devices() { return {}; }
void choose_cuda_device(int number) {
  throw std::runtime_error("cuda:" + std::to_string(number) +
                           " was requested, but there is no GPU: this build has no CUDA");
}
std::optional<int> cuda_device_in_use(std::string* reason) {
  if (reason != nullptr) *reason = "this build has no CUDA";
  return std::nullopt;
}
std::optional<GpuClocks> cuda_clocks() { return std::nullopt; }
void cuda_start_clocks() {}
std::string cuda_driver() { return ""; }
std::vector<std::string> cuda_uuids() { return {}; }
int cuda_multiprocessors() { return 0; }
std::int64_t cuda_available_bytes() { return 0; }
double cuda_copy_bandwidth(std::int64_t) { refuse(); }
double cuda_link_bandwidth(std::int64_t) { refuse(); }
void* cuda_allocate(std::int64_t) { refuse(); }
void cuda_release(void*) noexcept {}
void* cuda_allocate_page_locked(std::int64_t) { refuse(); }
void cuda_release_page_locked(void*) noexcept {}
void cuda_clear(void*, std::int64_t) {}
void synchronize(Device) {}
void copy_bytes(const void* from, Device, void* to, Device, std::int64_t bytes) { copy_on_host(from, to, bytes); }

// On the host a CUDA graph is the function that it was made of, and an asynchronous read-back a copy.
struct CudaGraph::Graph {};
CudaGraph::CudaGraph(Device, std::function<void()> work) : work_(std::move(work)) {}
CudaGraph::~CudaGraph() = default;
CudaGraph::CudaGraph(CudaGraph&&) noexcept = default;
CudaGraph& CudaGraph::operator=(CudaGraph&&) noexcept = default;
void CudaGraph::run() const { work_(); }
bool cuda_is_capturing() { return false; }
void* cuda_work_stream() { refuse(); }

struct AsyncReadback::Slot {
  std::vector<double> numbers;
};
AsyncReadback::AsyncReadback(std::int64_t size, Device)
    : slot_(std::make_unique<Slot>(Slot{std::vector<double>(static_cast<std::size_t>(size))})) {}
AsyncReadback::~AsyncReadback() = default;
AsyncReadback::AsyncReadback(AsyncReadback&&) noexcept = default;
AsyncReadback& AsyncReadback::operator=(AsyncReadback&&) noexcept = default;
void AsyncReadback::post(const Vector<double>& from) {
  copy_bytes(from.data(), Device::host, slot_->numbers.data(), Device::host, from.bytes());
}
std::span<const double> AsyncReadback::receive() const { return slot_->numbers; }

// Objects of a GPU that no one makes.
struct SideStream::Stream {};
SideStream::SideStream() { refuse(); }
SideStream::~SideStream() = default;
void SideStream::begin(const std::function<void()>&) {}
void SideStream::join() {}

struct GpuStopwatch::Events {};
GpuStopwatch::GpuStopwatch() { refuse(); }
GpuStopwatch::~GpuStopwatch() = default;
void GpuStopwatch::mark(int) { refuse(); }
double GpuStopwatch::seconds(int, int) const { refuse(); }

class FormProductOnGpu::Products {};
FormProductOnGpu::FormProductOnGpu(const BilinearForm&, Unknowns) { refuse(); }
std::int64_t FormProductOnGpu::bytes(const BilinearForm&, Unknowns) { return 0; }
FormProductOnGpu::~FormProductOnGpu() = default;
void FormProductOnGpu::residual(const Vector<double>&, const Vector<double>&, Vector<double>&, Vector<double>&) const {}

// Several processes do without these where they are null.
std::unique_ptr<GpuSums> make_gpu_sums(const Communicator&) { return nullptr; }
template <std::floating_point T>
std::unique_ptr<GpuExchange<T>> make_gpu_exchange(const Communicator&, const IndexMap&, int, const GpuSums&) {
  return nullptr;
}
template <std::floating_point T>
std::unique_ptr<PersistentCg<T>> make_gpu_persistent_cg(const Communicator&, const IndexMap&, const CompleteRows<T>&,
                                                        std::span<const std::int32_t>, GpuExchange<T>&, PersistentFor) {
  return nullptr;
}
template decltype(make_gpu_exchange<double>) make_gpu_exchange<double>;
template decltype(make_gpu_exchange<float>) make_gpu_exchange<float>;
template decltype(make_gpu_persistent_cg<double>) make_gpu_persistent_cg<double>;
template decltype(make_gpu_persistent_cg<float>) make_gpu_persistent_cg<float>;

// Everything else throws.
bool cuda_takes(std::span<const PointProgram>) { return false; }
std::vector<std::int32_t> cuda_cells_with_jumps(const Vector<double>&, int, const JumpRange&) { refuse(); }
Vector<std::int32_t> cuda_places_of_points(const BoxPoints&, const LevelOrdering&) { refuse(); }
bool cuda_set_diffusion(const BilinearForm&, const Vector<double>&, FactorInputs&) { refuse(); }
Extremes cuda_extremes(const FunctionOnGpu&) { refuse(); }
std::vector<double> cuda_integrals(const FunctionOnGpu&) { refuse(); }
std::vector<double> cuda_error_squares(const FunctionOnGpu&, const ErrorTables&, std::span<const PointProgram>) {
  refuse();
}
Vector<std::int32_t> cuda_places_between(const Vector<std::int32_t>&, const Vector<std::int32_t>&, std::int64_t) {
  refuse();
}
ElementMatrices cuda_element_matrices(const BilinearForm&) { refuse(); }
RectangularMatrix cuda_assemble(const BilinearForm&, const ElementMatrices&) { refuse(); }
Vector<std::int64_t> cuda_row_offsets(const BilinearForm&) { refuse(); }
std::vector<std::int32_t> cuda_suspect_cells(const ElementMatrices&, const Vector<double>&) { refuse(); }
Vector<double> cuda_diagonal_of(const RectangularMatrix&) { refuse(); }
RectangularMatrix cuda_transposed(const RectangularMatrix&) { refuse(); }
RectangularMatrix cuda_product(const RectangularMatrix&, const RectangularMatrix&) { refuse(); }
RectangularMatrix cuda_strong_connections(const RectangularMatrix&, double) { refuse(); }
Aggregates cuda_aggregate(const RectangularMatrix&) { refuse(); }
RectangularMatrix cuda_prolongation(const RectangularMatrix&, const RectangularMatrix&, const Aggregates&, double) {
  refuse();
}
void cuda_add_energies(const double*, const double*, int, double*) { refuse(); }
void cuda_send_values(std::span<const double>, double*) { refuse(); }

/// A function of both precisions T, which throws.
#define FEMCG_REFUSES(result, name, arguments)  \
  template <std::floating_point T>              \
  result name arguments {                       \
    refuse();                                   \
  }                                             \
  template decltype(name<double>) name<double>; \
  template decltype(name<float>) name<float>
FEMCG_REFUSES(const VectorKernels<T>&, cuda_vector_kernels, ());
FEMCG_REFUSES(const MultiVectorKernels<T>&, cuda_multi_vector_kernels, ());
FEMCG_REFUSES(std::unique_ptr<BlockCgKernels<T>>, make_cuda_block_cg_kernels, ());
FEMCG_REFUSES(std::unique_ptr<VectorKernels<T>>, make_cuda_vector_kernels, (std::int64_t, const cuda::ProcessSums*));
FEMCG_REFUSES(std::unique_ptr<MultiVectorKernels<T>>, make_cuda_multi_vector_kernels,
              (std::int64_t, const cuda::ProcessSums*));
FEMCG_REFUSES(DiagonalRange, cuda_range_of_diagonal, (const Vector<T>&, std::int64_t));
FEMCG_REFUSES(void, cuda_invert_diagonal, (const Vector<T>&, double, InverseDiagonal&));
FEMCG_REFUSES(void, cuda_random_residual,
              (const InverseDiagonal&, const Vector<std::int32_t>&, std::span<const std::int64_t>, Vector<T>&));
FEMCG_REFUSES(void, cuda_set_column, (const Vector<T>&, const Vector<std::int32_t>&, int, MultiVector<T>&));
FEMCG_REFUSES(void, cuda_set_columns, (std::span<const Vector<T>>, int, MultiVector<T>&));
FEMCG_REFUSES(void, cuda_get_columns, (const MultiVector<T>&, int, std::span<Vector<T>>));
FEMCG_REFUSES(void, cuda_get_column, (const MultiVector<T>&, int, const Vector<std::int32_t>&, Vector<T>&));
FEMCG_REFUSES(void, cuda_clear_at, (std::span<const std::int32_t>, Vector<T>&));
FEMCG_REFUSES(void, cuda_scatter_added, (const Vector<T>&, const Vector<std::int32_t>&, Vector<double>&));
FEMCG_REFUSES(std::unique_ptr<Transfer<T>>, make_cuda_cell_transfer,
              (const CellEmbedding&, const LevelOrdering&, const LevelOrdering&));
FEMCG_REFUSES(std::unique_ptr<Transfer<T>>, make_cuda_matrix_transfer, (const RectangularMatrix&));
FEMCG_REFUSES(std::unique_ptr<LocalSolves<T>>, make_cuda_local_solves, (const BlockInverses&));
FEMCG_REFUSES(std::unique_ptr<TensorSolves<T>>, make_cuda_tensor_solves, (const TensorInverse&));
FEMCG_REFUSES(Vector<T>, cuda_cell_factors, (const FactorInputs&, const Vector<std::int32_t>&, CellLayout));
FEMCG_REFUSES(std::unique_ptr<GpuInterface<T>>, make_gpu_interface, (const InterfacePlan&, int));
FEMCG_REFUSES(void, cuda_add_contributions, (const T*, std::int64_t, std::int64_t, int, const std::int32_t*, T*, T*));
#undef FEMCG_REFUSES

// With two precisions.
template <std::floating_point From, std::floating_point To>
void cuda_gather_rows(const From*, const Vector<std::int32_t>&, std::int64_t, int, To*) {
  refuse();
}
template <std::floating_point From, std::floating_point To>
void cuda_scatter_rows(const From*, const Vector<std::int32_t>&, std::int64_t, int, To*) {
  refuse();
}
template void cuda_gather_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_gather_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, float*);
template void cuda_gather_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, float*);
template void cuda_scatter_rows(const double*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_scatter_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, double*);
template void cuda_scatter_rows(const float*, const Vector<std::int32_t>&, std::int64_t, int, float*);

// Overloads for vectors and multi-vectors.
template <std::floating_point T>
void cuda_chebyshev_first(double, const Vector<T>&, const InverseDiagonal&, Vector<T>&, Vector<T>&) {
  refuse();
}
template <std::floating_point T>
void cuda_chebyshev_next(double, double, const Vector<T>&, const Vector<T>&, const InverseDiagonal&, Vector<T>&,
                         Vector<T>&) {
  refuse();
}
template <std::floating_point T>
void cuda_chebyshev_first(double, const MultiVector<T>&, const InverseDiagonal&, MultiVector<T>&, MultiVector<T>&) {
  refuse();
}
template <std::floating_point T>
void cuda_chebyshev_next(double, double, const MultiVector<T>&, const MultiVector<T>&, const InverseDiagonal&,
                         MultiVector<T>&, MultiVector<T>&) {
  refuse();
}
template void cuda_chebyshev_first(double, const Vector<double>&, const InverseDiagonal&, Vector<double>&,
                                   Vector<double>&);
template void cuda_chebyshev_next(double, double, const Vector<double>&, const Vector<double>&, const InverseDiagonal&,
                                  Vector<double>&, Vector<double>&);
template void cuda_chebyshev_first(double, const Vector<float>&, const InverseDiagonal&, Vector<float>&,
                                   Vector<float>&);
template void cuda_chebyshev_next(double, double, const Vector<float>&, const Vector<float>&, const InverseDiagonal&,
                                  Vector<float>&, Vector<float>&);
template void cuda_chebyshev_first(double, const MultiVector<double>&, const InverseDiagonal&, MultiVector<double>&,
                                   MultiVector<double>&);
template void cuda_chebyshev_next(double, double, const MultiVector<double>&, const MultiVector<double>&,
                                  const InverseDiagonal&, MultiVector<double>&, MultiVector<double>&);
template void cuda_chebyshev_first(double, const MultiVector<float>&, const InverseDiagonal&, MultiVector<float>&,
                                   MultiVector<float>&);
template void cuda_chebyshev_next(double, double, const MultiVector<float>&, const MultiVector<float>&,
                                  const InverseDiagonal&, MultiVector<float>&, MultiVector<float>&);

}  // namespace femcg::operators

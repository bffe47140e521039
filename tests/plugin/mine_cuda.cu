// An operator for GPUs as a plug-in: a warp per row of femcg's CSR matrix, as in csr-v of Bell & Garland (2009). It
// uses femcg's matrix on the GPU, and leaves x'Ax and the diagonal to femcg. Option `block`: threads per block.
#include <cuda_runtime.h>
#include <femcg/plugin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Mine {
  femcg_matrix matrix;
  cudaStream_t stream;
  int threads;
};

constexpr int warp = 32;

template <class T>
__global__ void multiply(femcg_matrix a, const T* x, T* y) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp;
  if (row >= a.rows) return;
  const int lane = threadIdx.x % warp;
  const T* values = static_cast<const T*>(a.values);
  T sum = 0;
  for (std::int64_t k = a.row_offsets[row] + lane; k < a.row_offsets[row + 1]; k += warp)
    sum += values[k] * x[a.columns[k]];
  for (int apart = warp / 2; apart > 0; apart /= 2) sum += __shfl_down_sync(0xffffffffU, sum, apart);
  if (lane == 0) y[row] = sum;
}

void* create(const femcg_source* from, femcg_message*) {
  return new Mine{from->device, static_cast<cudaStream_t>(from->stream), std::atoi(from->settings[0].value)};
}

int apply(void* op, const void* x, void* y, double*, femcg_message* why_not) {
  const Mine& a = *static_cast<Mine*>(op);
  const std::int64_t rows_of_block = a.threads / warp;
  const auto blocks = static_cast<unsigned>((a.matrix.rows + rows_of_block - 1) / rows_of_block);
  if (blocks == 0) return 0;
  if (a.matrix.value_bytes == 8)
    multiply<<<blocks, a.threads, 0, a.stream>>>(a.matrix, static_cast<const double*>(x), static_cast<double*>(y));
  else
    multiply<<<blocks, a.threads, 0, a.stream>>>(a.matrix, static_cast<const float*>(x), static_cast<float*>(y));
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return 0;
  std::snprintf(why_not->text, sizeof why_not->text, "%s", cudaGetErrorString(status));
  return 1;
}

int accepts(const char*, const char* value) {
  for (const char* known : {"64", "128", "256", "512"})
    if (std::strcmp(value, known) == 0) return 1;
  return 0;
}

void footprint(void* op, femcg_footprint* of) {
  const femcg_matrix& a = static_cast<Mine*>(op)->matrix;
  of->entries = a.nonzeros;
  of->stored_bytes = of->read_bytes = a.nonzeros * (4 + a.value_bytes) + (a.rows + std::int64_t{1}) * 8;
}

void destroy(void* op) { delete static_cast<Mine*>(op); }

const femcg_option options[] = {{"block", "64, 128, 256 or 512", "128", "threads of a block"}};

femcg_operator described() {
  femcg_operator op{};
  op.name = "mine-cuda";
  op.description = "compressed rows, a warp for each";
  op.source = "example of a plug-in";
  op.option_count = 1;
  op.options = options;
  op.keeps_matrix = 1;
  op.accepts = accepts;
  op.create_on_cuda = create;
  op.apply = apply;
  op.footprint = footprint;
  op.destroy = destroy;
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const femcg_plugin* femcg_plugin_entry() {
  static const femcg_operator op = described();
  static const femcg_plugin plugin{FEMCG_PLUGIN_VERSION, 1, &op};
  return &plugin;
}

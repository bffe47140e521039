// CUDA graphs and asynchronous read-back.

#include "operators/backend/cuda_graph.hpp"
#include "operators/backend/launch.cuh"

namespace femcg::operators {

struct CudaGraph::Graph {
  explicit Graph(const std::function<void()>& work) {
    cudaStream_t stream = cuda::stream();
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording work");
    cudaGraph_t captured{};
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &captured);
      if (captured != nullptr) cudaGraphDestroy(captured);
      throw;
    }
    cuda::check(cudaStreamEndCapture(stream, &captured), "recording work");
    const cudaError_t status = cudaGraphInstantiate(&executable, captured, 0);
    cudaGraphDestroy(captured);
    cuda::check(status, "making a CUDA graph");
  }
  ~Graph() { cudaGraphExecDestroy(executable); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  cudaGraphExec_t executable{};
};

CudaGraph::CudaGraph(Device device, std::function<void()> work) {
  if (device == Device::cuda)
    graph_ = std::make_unique<Graph>(work);
  else
    work_ = std::move(work);
}
CudaGraph::~CudaGraph() = default;
CudaGraph::CudaGraph(CudaGraph&&) noexcept = default;
CudaGraph& CudaGraph::operator=(CudaGraph&&) noexcept = default;

void CudaGraph::run() const {
  if (graph_)
    cuda::check(cudaGraphLaunch(graph_->executable, cuda::stream()), "launching a CUDA graph");
  else
    work_();
}

void* cuda_work_stream() { return cuda::stream(); }

struct AsyncReadback::Slot {
  Slot(std::int64_t numbers, Device on) : size(numbers), device(on) {
    if (device == Device::host) {
      on_host.resize(static_cast<std::size_t>(size));
      memory = on_host.data();
      return;
    }
    cuda::check(cudaEventCreateWithFlags(&arrived, cudaEventDisableTiming), "making an event");
    if (const cudaError_t status = cudaMallocHost(&memory, static_cast<std::size_t>(size) * sizeof(double));
        status != cudaSuccess) {
      cudaEventDestroy(arrived);
      cuda::check(status, "allocating pinned memory");
    }
  }
  ~Slot() {
    if (device == Device::host) return;
    cudaEventSynchronize(arrived);  // a copy may be in flight
    cudaEventDestroy(arrived);
    cudaFreeHost(memory);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  std::int64_t size;
  Device device;
  std::vector<double> on_host;
  double* memory = nullptr;
  cudaEvent_t arrived{};
};

AsyncReadback::AsyncReadback(std::int64_t size, Device device) : slot_(std::make_unique<Slot>(size, device)) {}
AsyncReadback::~AsyncReadback() = default;
AsyncReadback::AsyncReadback(AsyncReadback&&) noexcept = default;
AsyncReadback& AsyncReadback::operator=(AsyncReadback&&) noexcept = default;

void AsyncReadback::post(const Vector<double>& from) {
  if (slot_->device == Device::host) {
    copy_bytes(from.data(), Device::host, slot_->memory, Device::host, from.bytes());
    return;
  }
  cuda::check(cudaMemcpyAsync(slot_->memory, from.data(), static_cast<std::size_t>(from.bytes()),
                              cudaMemcpyDeviceToHost, cuda::stream()),
              "sending numbers to the host");
  cuda::check(cudaEventRecord(slot_->arrived, cuda::stream()), "recording an event");
}

std::span<const double> AsyncReadback::receive() const {
  if (slot_->device == Device::cuda) cuda::check(cudaEventSynchronize(slot_->arrived), "waiting for the GPU");
  return {slot_->memory, static_cast<std::size_t>(slot_->size)};
}

}  // namespace femcg::operators

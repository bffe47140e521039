// CUDA graphs and pinned copies.

#include "operators/backend/launch.cuh"
#include "operators/backend/recorded_work.hpp"

namespace femcg::operators {

struct RecordedWork::Graph {
  explicit Graph(const std::function<void()>& work) {
    cudaStream_t stream = cuda::stream();
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording work");
    cudaGraph_t recorded{};
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      throw;
    }
    cuda::check(cudaStreamEndCapture(stream, &recorded), "recording work");
    const cudaError_t status = cudaGraphInstantiate(&executable, recorded, 0);
    cudaGraphDestroy(recorded);
    cuda::check(status, "making a graph of recorded work");
  }
  ~Graph() { cudaGraphExecDestroy(executable); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  cudaGraphExec_t executable{};
};

RecordedWork::RecordedWork(Device device, std::function<void()> work) {
  if (device == Device::cuda)
    graph_ = std::make_unique<Graph>(work);
  else
    work_ = std::move(work);
}
RecordedWork::~RecordedWork() = default;
RecordedWork::RecordedWork(RecordedWork&&) noexcept = default;
RecordedWork& RecordedWork::operator=(RecordedWork&&) noexcept = default;

void RecordedWork::run() const {
  if (graph_)
    cuda::check(cudaGraphLaunch(graph_->executable, cuda::stream()), "launching recorded work");
  else
    work_();
}

void* cuda_work_stream() { return cuda::stream(); }

struct Mailbox::Slot {
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
    cudaEventSynchronize(arrived);  // a copy may still be on its way
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

Mailbox::Mailbox(std::int64_t size, Device device) : slot_(std::make_unique<Slot>(size, device)) {}
Mailbox::~Mailbox() = default;
Mailbox::Mailbox(Mailbox&&) noexcept = default;
Mailbox& Mailbox::operator=(Mailbox&&) noexcept = default;

void Mailbox::post(const Vector<double>& from) {
  if (slot_->device == Device::host) {
    copy_bytes(from.data(), Device::host, slot_->memory, Device::host, from.bytes());
    return;
  }
  cuda::check(cudaMemcpyAsync(slot_->memory, from.data(), static_cast<std::size_t>(from.bytes()),
                              cudaMemcpyDeviceToHost, cuda::stream()),
              "sending numbers to the host");
  cuda::check(cudaEventRecord(slot_->arrived, cuda::stream()), "recording an event");
}

std::span<const double> Mailbox::receive() const {
  if (slot_->device == Device::cuda) cuda::check(cudaEventSynchronize(slot_->arrived), "waiting for the GPU");
  return {slot_->memory, static_cast<std::size_t>(slot_->size)};
}

}  // namespace femcg::operators

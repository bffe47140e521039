// One thread a value. Packing reads an index and a value and writes a value, to the page-locked host memory that
// messages are sent from; the sums read an offset, and an index and a value for each process that has the unknown.
//
// Messages travel while the GPU multiplies: packing comes before the interior cells in the one stream, received values
// are copied in another, and the sums wait for both.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "operators/backend/launch.cuh"
#include "operators/backend/memory.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/distributed/gpu/gpu_interface.hpp"
#include "operators/distributed/gpu/plan_on_gpu.cuh"

namespace femcg::operators {

namespace {

using cuda::check;

constexpr int block_threads = 256;

std::int64_t blocks(std::int64_t threads) { return cuda::blocks_of(threads, block_threads); }

/// Adds the terms of each shared unknown in the order of the processes.
template <class T>
__global__ void add_kernel(std::int64_t numbers, int stride, const T* received, const std::int64_t* offsets,
                           const std::int32_t* terms, T* sums) {
  const std::int64_t n = cuda::thread_number();
  if (n >= numbers) return;
  const std::int64_t i = n / stride, c = n % stride;
  T sum = 0;
  for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += received[std::int64_t{terms[k]} * stride + c];
  sums[n] = sum;
}

template <class T>
__global__ void add_contributions_kernel(const T* a, std::int64_t both, std::int64_t count, int stride,
                                         const std::int32_t* places, T* to, T* y) {
  const std::int64_t i = cuda::thread_number();
  if (i >= count) return;
  if (i >= both)
    to[i] = a[i];
  else if (places == nullptr)
    to[i] += a[i];
  else
    y[std::int64_t{places[i / stride]} * stride + i % stride] += a[i];
}

__global__ void add_energies_kernel(const double* a, const double* b, int count, double* sums) {
  const auto c = static_cast<int>(threadIdx.x);
  if (c < count) sums[c] = a[c] + b[c];
}

struct Numbers {
  double of[most_values_sent];
};
__global__ void send_values_kernel(Numbers numbers, int count, double* to) {
  const auto i = static_cast<int>(threadIdx.x);
  if (i < count) to[i] = numbers.of[i];
}

struct Event {
  explicit Event(unsigned flags) { check(cudaEventCreateWithFlags(&of, flags), "making an event"); }
  ~Event() { cudaEventDestroy(of); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t on) const { check(cudaEventRecord(of, on), "recording an event"); }
  cudaEvent_t of{};
};

struct Stream {
  Stream() { check(cudaStreamCreateWithFlags(&of, cudaStreamNonBlocking), "making a stream"); }
  ~Stream() { cudaStreamDestroy(of); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t of{};
};

template <std::floating_point T>
class CudaInterface final : public GpuInterface<T> {
 public:
  CudaInterface(const InterfacePlan& plan, int stride)
      : stride_(stride),
        numbers_(std::ssize(plan.places) * stride),
        shared_(plan.shared * stride),
        plan_(plan),
        sent_(numbers_ * std::int64_t{sizeof(T)}),
        received_(numbers_ * std::int64_t{sizeof(T)}),
        there_(numbers_ + shared_, Device::cuda) {}

  /// Waits for copies in flight, since their memory is freed next.
  ~CudaInterface() override {
    cudaStreamSynchronize(copies_.of);
    cudaStreamSynchronize(cuda::stream());
  }

  T* sent() override { return reinterpret_cast<T*>(sent_.data()); }
  T* received() override { return reinterpret_cast<T*>(received_.data()); }

  void pack(const T* contributions) override {
    cuda_gather_rows(contributions, plan_.places, plan_.places.size(), stride_, sent());
    packed_event_.record(cuda::stream());
    // Own contributions go behind the received ones; in this stream, hence after the sums of the previous product.
    if (shared_ > 0)
      check(cudaMemcpyAsync(there_.data() + numbers_, contributions, static_cast<std::size_t>(shared_) * sizeof(T),
                            cudaMemcpyDeviceToDevice, cuda::stream()),
            "copying what an interface has");
  }

  void wait_until_packed() override { check(cudaEventSynchronize(packed_event_.of), "waiting for the GPU"); }

  void fetch() override {
    // The sums of the previous product have read this buffer: they were enqueued before the packing that has ended.
    if (numbers_ > 0)
      check(cudaMemcpyAsync(there_.data(), received(), static_cast<std::size_t>(numbers_) * sizeof(T),
                            cudaMemcpyHostToDevice, copies_.of),
            "copying what has arrived");
    arrived_event_.record(copies_.of);
    check(cudaStreamWaitEvent(cuda::stream(), arrived_event_.of, 0), "waiting for an event");
  }

  void add(T* sums) override {
    cuda::launch(add_kernel<T>, blocks(shared_), block_threads, 0, shared_, stride_, there_.data(),
                 plan_.offsets.data(), plan_.terms.data(), sums);
  }

 private:
  int stride_;
  std::int64_t numbers_, shared_;
  PlanOnGpu plan_;
  PageLocked sent_, received_;
  Vector<T> there_;  ///< received values, then own contributions
  Stream copies_;
  Event packed_event_{cudaEventDisableTiming}, arrived_event_{cudaEventDisableTiming};
};

}  // namespace

template <std::floating_point T>
std::unique_ptr<GpuInterface<T>> make_gpu_interface(const InterfacePlan& plan, int stride) {
  return std::make_unique<CudaInterface<T>>(plan, stride);
}

template <std::floating_point T>
void cuda_add_contributions(const T* a, std::int64_t both, std::int64_t count, int stride, const std::int32_t* places,
                            T* to, T* y) {
  cuda::launch(add_contributions_kernel<T>, blocks(count), block_threads, 0, a, both, count, stride, places, to, y);
}
void cuda_add_energies(const double* a, const double* b, int count, double* sums) {
  cuda::launch(add_energies_kernel, 1, cuda::threads_per_warp, 0, a, b, count, sums);
}

void cuda_send_values(std::span<const double> numbers, double* to) {
  Numbers given{};
  std::ranges::copy(numbers, given.of);
  cuda::launch(send_values_kernel, 1, most_values_sent, 0, given, static_cast<int>(numbers.size()), to);
}

std::vector<std::string> cuda_uuids() {
  std::vector<std::string> uuids;
  for (int device = 0; device < std::ssize(cuda_devices()); ++device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking for a GPU");
    uuids.emplace_back(properties.uuid.bytes, sizeof properties.uuid.bytes);
  }
  return uuids;
}

bool cuda_is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(cuda::stream(), &status), "asking whether the stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

struct GpuStopwatch::Events {
  std::array<Event, moments> of{Event(cudaEventDefault), Event(cudaEventDefault), Event(cudaEventDefault)};
};
GpuStopwatch::GpuStopwatch() : events_(std::make_unique<Events>()) {}
GpuStopwatch::~GpuStopwatch() = default;
void GpuStopwatch::mark(int moment) { events_->of[moment].record(cuda::stream()); }
double GpuStopwatch::seconds(int from, int to) const {
  check(cudaEventSynchronize(events_->of[to].of), "waiting for the GPU");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_->of[from].of, events_->of[to].of), "reading an event");
  return 1e-3 * static_cast<double>(milliseconds);
}

template std::unique_ptr<GpuInterface<double>> make_gpu_interface(const InterfacePlan&, int);
template std::unique_ptr<GpuInterface<float>> make_gpu_interface(const InterfacePlan&, int);
template void cuda_add_contributions(const double*, std::int64_t, std::int64_t, int, const std::int32_t*, double*,
                                     double*);
template void cuda_add_contributions(const float*, std::int64_t, std::int64_t, int, const std::int32_t*, float*,
                                     float*);

}  // namespace femcg::operators

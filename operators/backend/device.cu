// GPUs of this host, by the CUDA runtime.

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "operators/backend/device.hpp"
#include "operators/backend/stream_scope.cuh"
#include "operators/backend/vector.hpp"

namespace femcg::operators {

namespace {

using cuda::check;

/// RAII event with timing.
struct Event {
  Event() { check(cudaEventCreate(&event), "making an event"); }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t event{};
};

/// An empty kernel, to ask whether this build has code for a GPU.
__global__ void no_work() {}

/// Reason why the current GPU runs no kernel of this build; empty if it does.
std::string why_no_kernels(const cudaDeviceProp& of) {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, no_work);
  if (status == cudaSuccess) return "";
  cudaGetLastError();  // the error is not sticky, and is handled here
  if (status == cudaErrorUnsupportedPtxVersion) return "the NVIDIA driver is older than this build's CUDA";
  if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction)
    return cudaGetErrorString(status);
  const std::string major = std::to_string(of.major), minor = std::to_string(of.minor);
  return std::string("this build has no kernels for the ") + of.name + ", of compute capability " + major + "." +
         minor + "; build it with -DCMAKE_CUDA_ARCHITECTURES=" + major + minor;
}

/// Makes a GPU the current one and creates its context. Returns why it cannot be used; empty if it can.
std::string try_device(int device) {
  cudaDeviceProp properties{};
  std::size_t free_bytes = 0, total_bytes = 0;
  cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status == cudaSuccess) status = cudaSetDevice(device);
  if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return why_no_kernels(properties);
}

/// Number of GPUs that the driver reports; if 0, `reason` says why.
int count_devices(std::string& reason) {
  int count = 0;
  reason = "the driver reports no GPU";
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  reason = status == cudaErrorInsufficientDriver ? "no NVIDIA driver is loaded, or it is older than this build's CUDA"
                                                 : cudaGetErrorString(status);
  return 0;
}

std::optional<int> in_use;
cudaStream_t other_stream = nullptr;  // set by a StreamScope

}  // namespace

cudaStream_t cuda::stream() {
  static const cudaStream_t stream = [] {
    cudaStream_t made{};
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
    return made;
  }();
  return other_stream != nullptr ? other_stream : stream;
}

cuda::StreamScope::StreamScope(cudaStream_t stream) : before_(std::exchange(other_stream, stream)) {}
cuda::StreamScope::~StreamScope() { other_stream = before_; }

bool cuda::waits_for_previous(const void* kernel) {
  constexpr int waiting_version = 90;
  static std::map<const void*, bool> known;
  const auto [found, is_new] = known.try_emplace(kernel, false);
  if (is_new) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's version");
    found->second = attributes.ptxVersion >= waiting_version;
  }
  return found->second;
}

bool built_with_cuda() { return true; }

std::vector<DeviceProperties> cuda_devices() {
  std::string reason;
  std::vector<DeviceProperties> devices;
  for (int device = 0, count = count_devices(reason); device < count; ++device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "asking for a GPU");
    devices.push_back({properties.name, static_cast<std::int64_t>(properties.totalGlobalMem),
                       device == in_use ? cuda_available_bytes() : 0, properties.multiProcessorCount, properties.major,
                       properties.minor});
  }
  return devices;
}

void choose_cuda_device(int number) {
  if (in_use == number) return;
  const std::string name = "cuda:" + std::to_string(number);
  if (in_use) throw std::runtime_error(name + " was requested, but cuda:" + std::to_string(*in_use) + " is in use");
  std::string reason;
  const int count = count_devices(reason);
  if (number >= count)
    throw std::runtime_error(name + " was requested, but " +
                             (count == 0 ? "there is none: " + reason
                                         : "the last GPU of this machine is cuda:" + std::to_string(count - 1)));
  if (const std::string why = try_device(number); !why.empty())
    throw std::runtime_error(name + " was requested, but it cannot be used: " + why);
  in_use = number;
}

std::optional<int> cuda_device_in_use(std::string* reason) {
  std::string why;
  for (int device = 0, count = in_use ? 0 : count_devices(why); device < count && !in_use; ++device) {
    why = try_device(device);
    if (why.empty()) in_use = device;
  }
  if (!in_use && reason != nullptr) *reason = why;
  thread_local std::optional<int> of_thread;  // another thread may have chosen the GPU
  if (in_use && of_thread != in_use) {
    check(cudaSetDevice(*in_use), "taking the GPU in use");
    of_thread = in_use;
  }
  return in_use;
}

namespace {

/// A function of a loaded library; null if the library has none of this name.
template <class Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// NVML, which comes with the driver, not with the toolkit. Starting it takes 30 ms: the process does so once.
class Nvml {
 public:
  static const Nvml& of_process() {
    static const Nvml one;
    return one;
  }

  /// The clocks of the GPU on a PCI bus; none where NVML does not tell them.
  std::optional<GpuClocks> clocks(const char* bus) const {
    Handle device = nullptr;
    if (!started_ || find_(bus, &device) != ok) return std::nullopt;
    unsigned now[2] = {}, most[2] = {};
    for (const int of : {of_multiprocessors, of_memory})
      if (now_(device, of, &now[of - 1]) != ok || most_(device, of, &most[of - 1]) != ok) return std::nullopt;
    return GpuClocks{static_cast<int>(now[0]), static_cast<int>(now[1]), static_cast<int>(most[0]),
                     static_cast<int>(most[1])};
  }

 private:
  using Handle = void*;
  static constexpr int ok = 0, of_multiprocessors = 1, of_memory = 2;  // nvmlReturn_t, nvmlClockType_t

  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    auto* const init = function_of<int()>(library, "nvmlInit_v2");
    find_ = function_of<int(const char*, Handle*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
    now_ = function_of<int(Handle, int, unsigned*)>(library, "nvmlDeviceGetClockInfo");
    most_ = function_of<int(Handle, int, unsigned*)>(library, "nvmlDeviceGetMaxClockInfo");
    started_ = init && find_ && now_ && most_ && init() == ok;
  }

  int (*find_)(const char*, Handle*) = nullptr;
  int (*now_)(Handle, int, unsigned*) = nullptr;
  int (*most_)(Handle, int, unsigned*) = nullptr;
  bool started_ = false;
};

}  // namespace

void cuda_start_clocks() { Nvml::of_process(); }

std::optional<GpuClocks> cuda_clocks() {
  char bus[32] = "";
  if (!in_use || cudaDeviceGetPCIBusId(bus, sizeof bus, *in_use) != cudaSuccess) return std::nullopt;
  return Nvml::of_process().clocks(bus);
}

std::string cuda_driver() {
  int cuda = 0;
  if (cudaDriverGetVersion(&cuda) != cudaSuccess || cuda == 0) return "";
  const std::string of_cuda = "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  // NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != word.npos)
      return word + ", " + of_cuda;
  return of_cuda;
}

namespace {

/// Bytes per second of copying `bytes` to `to`, the best of several.
double best_rate(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) {
  constexpr int repetitions = 12;
  const Event begin, end;
  double best = 0;
  for (int r = 0; r < repetitions; ++r) {
    check(cudaEventRecord(begin.event, cuda::stream()), "recording an event");
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, cuda::stream()), "copying to the device");
    check(cudaEventRecord(end.event, cuda::stream()), "recording an event");
    check(cudaEventSynchronize(end.event), "copying to the device");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "reading an event");
    best = std::max(best, static_cast<double>(bytes) / (1e-3 * milliseconds));
  }
  return best;
}

}  // namespace

double cuda_copy_bandwidth(std::int64_t bytes) {
  Vector<char> from(bytes, Device::cuda), to(bytes, Device::cuda);
  check(cudaMemsetAsync(from.data(), 1, static_cast<std::size_t>(bytes), cuda::stream()), "filling device memory");
  return 2 * best_rate(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice);
}

double cuda_link_bandwidth(std::int64_t bytes) {
  PageLocked from(bytes);
  Vector<char> to(bytes, Device::cuda);
  std::memset(from.data(), 1, static_cast<std::size_t>(bytes));
  return best_rate(to.data(), from.data(), bytes, cudaMemcpyHostToDevice);
}

void* cuda_allocate_page_locked(std::int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is not sticky, and is handled here
    return nullptr;
  }
  check(status, "allocating page-locked memory");
  return memory;
}

void cuda_release_page_locked(void* memory) noexcept { cudaFreeHost(memory); }

void* cuda_allocate(std::int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is not sticky, and is handled here
    return nullptr;
  }
  check(status, "allocating device memory");
  return memory;
}

void cuda_release(void* memory) noexcept { cudaFree(memory); }

void cuda_clear(void* memory, std::int64_t bytes) {
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), cuda::stream()), "clearing device memory");
}

int cuda_multiprocessors() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? cuda::multiprocessors() : 0;
}

std::int64_t cuda_available_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess ? static_cast<std::int64_t>(free_bytes) : 0;
}

void synchronize(Device device) {
  if (device == Device::cuda) check(cudaStreamSynchronize(cuda::stream()), "waiting for the GPU");
}

}  // namespace femcg::operators

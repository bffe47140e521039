#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace femcg::operators {

/// The device of a vector or an operator.
enum class Device { host, cuda };

struct DeviceProperties {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;  ///< known of the GPU in use only
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
};

/// True if this build has CUDA kernels.
bool built_with_cuda();

/// The GPUs of this host, by number; empty where there is none, no driver, or a build without CUDA. Only the GPU in use
/// is touched: the free bytes of the others are not known.
std::vector<DeviceProperties> cuda_devices();

/// Chooses the GPU that does all work, by its number; to be called before any GPU work. Throws std::runtime_error if
/// there is no such GPU, it cannot be used, or another one is in use.
void choose_cuda_device(int number);

/// Number of the GPU in use: the chosen one, else the first that can be used. Makes it the current device of this
/// thread. Returns nothing where no GPU can be used; `reason`, if given, then says why.
std::optional<int> cuda_device_in_use(std::string* reason = nullptr);

/// Clock rates in MHz, now and at most.
struct GpuClocks {
  int multiprocessors = 0, memory = 0, most_multiprocessors = 0, most_memory = 0;
};
/// Clocks of the GPU in use, from the driver's management library (NVML); nothing where it has none.
std::optional<GpuClocks> cuda_clocks();
/// Starts that library, which takes some 30 ms; else the first cuda_clocks() does.
void cuda_start_clocks();
/// The version of the driver, such as "580.65.06, CUDA 13.0"; empty where there is none.
std::string cuda_driver();

/// Bytes per second, read plus written, of copying one array of `bytes` to another on the GPU in use: the best of
/// several, by device events. Throws std::runtime_error where there is no GPU or not enough memory.
double cuda_copy_bandwidth(std::int64_t bytes);

/// Bytes per second of copying `bytes` of page-locked host memory to the GPU in use: the best of several, by device
/// events. Throws std::runtime_error where there is no GPU or not enough memory.
double cuda_link_bandwidth(std::int64_t bytes);

/// Multiprocessors of the GPU in use; 0 where there is none.
int cuda_multiprocessors();

/// Allocates memory of the GPU in use; null if not enough is left. Throws std::runtime_error where there is no GPU.
void* cuda_allocate(std::int64_t bytes);
void cuda_release(void* memory) noexcept;
/// Allocates page-locked host memory, from which the GPU in use copies asynchronously; null if the host does not grant
/// as much. Throws std::runtime_error where there is no GPU.
void* cuda_allocate_page_locked(std::int64_t bytes);
/// Does not wait for copies in flight: there must be none.
void cuda_release_page_locked(void* memory) noexcept;
/// Sets bytes of GPU memory to zero, in order with the GPU's other work.
void cuda_clear(void* memory, std::int64_t bytes);
/// Bytes that the GPU in use has left; 0 where there is none.
std::int64_t cuda_available_bytes();

/// Waits until all work enqueued on a device is done; returns immediately on the host. Throws std::runtime_error if the
/// work failed.
void synchronize(Device device);

/// Copies memory between any two devices. A copy between host and GPU has ended when this returns; one on the GPU is in
/// order with the GPU's other work.
void copy_bytes(const void* from, Device from_device, void* to, Device to_device, std::int64_t bytes);

}  // namespace femcg::operators

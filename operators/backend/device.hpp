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
  std::int64_t free_bytes = 0;  ///< of the one in use
  int multiprocessors = 0;
  int major = 0, minor = 0;  ///< compute capability
};

/// True if this build has CUDA kernels.
bool built_with_cuda();

/// The GPUs of this machine, by number; empty where there is none, no driver, or a build without CUDA. Only the one in
/// use is touched; of the others it is not known what is free.
std::vector<DeviceProperties> cuda_devices();

/// Chooses the GPU that all work is for, by its number. To be called before there is any. Throws std::runtime_error
/// where there is no such GPU, it cannot be used, or another one is in use.
void choose_cuda_device(int number);

/// The number of the GPU in use: the chosen one, else the first that can be used; nothing where there is none, and then
/// `reason`, where given, says why. This thread works on it from then on.
std::optional<int> cuda_device_in_use(std::string* reason = nullptr);

/// Megahertz, now and at most.
struct GpuClocks {
  int multiprocessors = 0, memory = 0, most_multiprocessors = 0, most_memory = 0;
};
/// Clocks of the GPU in use, from the driver's management library (NVML); nothing where it has none.
std::optional<GpuClocks> cuda_clocks();
/// Starts that library, which takes some 30 ms; else the first cuda_clocks() does.
void cuda_start_clocks();
/// The version of the driver, such as "580.65.06, CUDA 13.0"; empty where there is none.
std::string cuda_driver();

/// Bytes a second, read plus written, of copying one array of `bytes` to another on the GPU in use: the best of
/// several, by device events. Throws std::runtime_error where there is no GPU or not enough memory.
double cuda_copy_bandwidth(std::int64_t bytes);

/// Bytes a second of copying page-locked memory of the host, `bytes` of it, to the GPU in use: the best of several, by
/// device events. Throws std::runtime_error where there is no GPU or not enough memory.
double cuda_link_bandwidth(std::int64_t bytes);

/// Multiprocessors of the GPU in use; 0 where there is none.
int cuda_multiprocessors();

/// Memory of the GPU in use; null where it has not that much left. Throws std::runtime_error where there is no GPU.
void* cuda_allocate(std::int64_t bytes);
void cuda_release(void* memory) noexcept;
/// Memory of the host that is page-locked, so that the GPU in use copies from it by itself; null where the host does
/// not grant as much. Throws std::runtime_error where there is no GPU.
void* cuda_allocate_page_locked(std::int64_t bytes);
/// Waits for nothing: no copy may be on its way.
void cuda_release_page_locked(void* memory) noexcept;
/// Sets bytes of its memory to zero, in order with the other work of it.
void cuda_clear(void* memory, std::int64_t bytes);
/// Bytes that the GPU in use has left; 0 where there is none.
std::int64_t cuda_available_bytes();

/// Waits until all work that was given to a device is done. On the host it always is. Throws std::runtime_error where
/// the work failed.
void synchronize(Device device);

/// Copies memory, from and to wherever it is. A copy between host and GPU is over when this returns; one on the GPU is
/// in order with the other work of it.
void copy_bytes(const void* from, Device from_device, void* to, Device to_device, std::int64_t bytes);

}  // namespace femcg::operators

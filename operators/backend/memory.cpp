#include "operators/backend/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>

#include "mesh/base/free_memory.hpp"
#include "mesh/base/retained_pages.hpp"

namespace femcg::operators {

namespace {

constexpr std::int64_t large_page = 2 << 20;
constexpr std::int64_t cache_line = 64;
constexpr std::int64_t worth_asking = 64 << 20;  // reading /proc takes as long as filling a megabyte

/// Throws OutOfMemory if the host has less than this: the kernel would grant it, and kill a process on first use. Freed
/// pages that malloc keeps are returned to the kernel if needed: each piece of them may be too small.
void require_on_host(std::int64_t bytes) {
  const std::int64_t available = mesh::free_memory();
  if (bytes > available) throw OutOfMemory(bytes, available, Device::host);
  if (bytes > available - mesh::kept_bytes()) mesh::return_pages();
}

void* allocate_on_host(std::int64_t bytes) {
  if (bytes >= worth_asking) require_on_host(bytes);
  const std::int64_t alignment = bytes >= 2 * large_page ? large_page : cache_line;
  const std::int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(rounded));
  if (memory == nullptr) throw OutOfMemory(bytes, mesh::free_memory(), Device::host);
  // A hint only: its failure costs speed, not correctness.
  if (alignment == large_page) madvise(memory, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

OutOfMemory::OutOfMemory(std::int64_t asked_bytes, std::int64_t available_bytes, Device device)
    : sentence_(fmt::format("out of memory on the {}: {:.3g} GB are needed in one piece and {:.3g} GB are free",
                            device == Device::host ? "host" : "GPU", 1e-9 * static_cast<double>(asked_bytes),
                            1e-9 * static_cast<double>(available_bytes))) {}

std::int64_t available_bytes(Device device) {
  return device == Device::host ? mesh::free_memory() : cuda_available_bytes();
}

void* allocate_bytes(std::int64_t bytes, Device device) {
  if (bytes < 0) throw std::bad_array_new_length();
  if (bytes == 0) return nullptr;
  if (device == Device::host) return allocate_on_host(bytes);
  void* memory = cuda_allocate(bytes);
  if (memory == nullptr) throw OutOfMemory(bytes, cuda_available_bytes(), Device::cuda);
  return memory;
}

void free_bytes(void* memory, std::int64_t, Device device) noexcept {
  if (device == Device::host)
    std::free(memory);
  else
    cuda_release(memory);
}

PageLocked::PageLocked(std::int64_t bytes) {
  if (bytes == 0) return;  // CUDA grants no memory of no size
  require_on_host(bytes);
  data_ = static_cast<char*>(cuda_allocate_page_locked(bytes));
  if (data_ == nullptr)
    throw OutOfMemory(fmt::format("the host grants no {:.3g} GB of page-locked memory, from which a GPU copies",
                                  1e-9 * static_cast<double>(bytes)));
}
PageLocked::~PageLocked() {
  if (data_ != nullptr) cuda_release_page_locked(data_);
}

}  // namespace femcg::operators

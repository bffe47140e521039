#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "operators/backend/device.hpp"

namespace femcg::operators {

/// More memory was asked for than there is; what() says both numbers.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::int64_t asked_bytes, std::int64_t available_bytes, Device device);
  explicit OutOfMemory(std::string sentence) : sentence_(std::move(sentence)) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

/// Bytes that can still be allocated on a device. On the host the kernel's estimate of available memory, within the
/// limits of the process's control group and of its address space (ulimit -v).
std::int64_t available_bytes(Device device);

/// Uninitialised memory on a device. On the host aligned to 64 bytes, and from 4 MiB on to large pages, which the
/// kernel is asked for: a stream of 4 KiB pages outruns the hardware prefetcher and the TLB. Throws OutOfMemory; on the
/// host also where the kernel would grant the memory and kill the process on first use.
void* allocate_bytes(std::int64_t bytes, Device device);
void free_bytes(void* memory, std::int64_t bytes, Device device) noexcept;

/// Page-locked memory of the host, uninitialised: a GPU copies from it concurrently with other work of both. Throws
/// OutOfMemory if the host has not as much. Copies in flight must end before it is destroyed.
class PageLocked {
 public:
  explicit PageLocked(std::int64_t bytes);
  PageLocked(PageLocked&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PageLocked& operator=(PageLocked&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PageLocked();
  char* data() { return data_; }
  const char* data() const { return data_; }

 private:
  char* data_ = nullptr;
};

}  // namespace femcg::operators

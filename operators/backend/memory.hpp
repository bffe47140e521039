#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "operators/backend/device.hpp"

namespace femcg::operators {

/// More memory was asked for than there is: a sentence with both numbers.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(std::int64_t asked_bytes, std::int64_t available_bytes, Device device);
  explicit OutOfMemory(std::string sentence) : sentence_(std::move(sentence)) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

/// Bytes that can still be allocated on a device. On the host what the kernel calls available, within the limits of the
/// control group that the process is in and on its addresses (ulimit -v).
std::int64_t available_bytes(Device device);

/// Uninitialised memory on a device. On the host aligned to 64 bytes, and to large pages (which the kernel is asked
/// for) from 4 MiB on: a stream of 4 KiB pages leaves the hardware prefetcher and the TLB behind. Throws OutOfMemory;
/// on the host too, where the kernel would grant the memory and kill the process once it is used.
void* allocate_bytes(std::int64_t bytes, Device device);
void free_bytes(void* memory, std::int64_t bytes, Device device) noexcept;

/// Memory of the host from which a GPU copies by itself while it and the host do other work: page-locked. Uninitialised
/// when made. Throws OutOfMemory where the host has not as much. Whoever has copies on their way waits for them before
/// it goes.
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

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

}  // namespace femcg::operators

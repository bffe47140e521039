#pragma once

// Data exchange between the blocks of a running grid, by values stamped with their epoch. A value and its stamp are one
// access of 64 or 128 bits, which is single-copy atomic in the PTX memory model: a reader that sees the stamp has the
// value, one way through the L2 cache after it was written, with no flag, counter or fence. If nothing else is passed
// between blocks, no other ordering is needed. A slot is rewritten for a later epoch only after the writer has
// received, from every block that reads the slot, a value computed from what the block had read: such a value cannot
// arrive before the read (PTX: no values out of thin air).
//
// To pass ordinary memory too, publisher and reader call device_fence, each between two barriers of its block: fence,
// relaxed store, relaxed load that sees the store, and fence are release and acquire, and the barriers extend causality
// to all threads of both blocks.

#include <cuda/atomic>

#include "operators/backend/launch.cuh"

namespace femcg::operators::cuda {

template <class T>
struct Stamped;

template <>
struct alignas(16) Stamped<double> {
  using Stamp = std::uint64_t;
  double value;
  Stamp stamp;
};

template <>
struct alignas(8) Stamped<float> {
  using Stamp = std::uint32_t;  ///< epoch modulo 2^32: the only other stamp in a slot is the previous epoch's
  float value;
  Stamp stamp;
};

__device__ inline void publish(Stamped<double>* to, double value, std::uint64_t epoch) {
  asm volatile("{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\tst.relaxed.gpu.b128 [%0], both;\n\t}" ::"l"(to),
               "l"(__double_as_longlong(value)), "l"(epoch)
               : "memory");
}
__device__ inline void publish(Stamped<float>* to, float value, std::uint64_t epoch) {
  asm volatile("{\n\t.reg .b64 both;\n\tmov.b64 both, {%1, %2};\n\tst.relaxed.gpu.b64 [%0], both;\n\t}" ::"l"(to),
               "r"(__float_as_int(value)), "r"(static_cast<std::uint32_t>(epoch))
               : "memory");
}

__device__ inline Stamped<double> poll(const Stamped<double>* from) {
  long long value;
  std::uint64_t stamp;
  asm volatile("{\n\t.reg .b128 both;\n\tld.relaxed.gpu.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
               : "=l"(value), "=l"(stamp)
               : "l"(from)
               : "memory");
  return {__longlong_as_double(value), stamp};
}
__device__ inline Stamped<float> poll(const Stamped<float>* from) {
  int value;
  std::uint32_t stamp;
  asm volatile("{\n\t.reg .b64 both;\n\tld.relaxed.gpu.b64 both, [%2];\n\tmov.b64 {%0, %1}, both;\n\t}"
               : "=r"(value), "=r"(stamp)
               : "l"(from)
               : "memory");
  return {__int_as_float(value), stamp};
}

/// True if the loaded value carries this epoch.
template <class T>
__device__ bool has_epoch(const Stamped<T>& seen, std::uint64_t epoch) {
  return seen.stamp == static_cast<typename Stamped<T>::Stamp>(epoch);
}

/// Device-scope acquire-release fence.
__device__ inline void device_fence() {
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_device);
}

}  // namespace femcg::operators::cuda

#include "operators/vector.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace femcg::operators {

namespace {

constexpr std::int64_t large_page = 2 << 20;
constexpr std::int64_t cache_line = 64;

void* allocate_on_host(std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  const std::int64_t alignment = bytes >= 2 * large_page ? large_page : cache_line;
  const std::int64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(rounded));
  if (memory == nullptr) throw std::bad_alloc();
  // A wish, not a need: without large pages all is slower but right.
  if (alignment == large_page) madvise(memory, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* allocate_bytes(std::int64_t bytes, Device device) {
  if (bytes < 0) throw std::bad_array_new_length();
  if (device != Device::host) throw std::invalid_argument("vectors live on the host in this build");
  return allocate_on_host(bytes);
}

void free_bytes(void* memory, std::int64_t, Device) noexcept { std::free(memory); }

template <class T>
void fill(Vector<T>& vector, T value) {
  T* data = vector.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < vector.size(); ++i) data[i] = value;
}

template <class To, class From>
void copy(const Vector<From>& from, Vector<To>& to) {
  if (from.size() != to.size()) throw std::invalid_argument("a copy needs vectors of one size");
  const From* source = from.data();
  To* target = to.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < from.size(); ++i) target[i] = static_cast<To>(source[i]);
}

template void fill(Vector<double>&, double);
template void fill(Vector<float>&, float);
template void fill(Vector<std::int32_t>&, std::int32_t);
template void fill(Vector<std::int64_t>&, std::int64_t);
template void copy(const Vector<double>&, Vector<double>&);
template void copy(const Vector<double>&, Vector<float>&);
template void copy(const Vector<float>&, Vector<double>&);
template void copy(const Vector<float>&, Vector<float>&);

}  // namespace femcg::operators

#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace femcg::mesh {

/// Has all threads fetch the pages of some memory, in large pages where they are to be had; does nothing for little
/// memory. A wish: without it, the first thread to write there fetches them one by one, for the better part of a second
/// a gigabyte.
void fetch_pages(void* memory, std::size_t bytes);

/// Leaves a number as it is that is made without a value.
template <class T>
struct UnclearedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UnclearedAllocator<U>;
  };
  UnclearedAllocator() = default;
  template <class U>
  UnclearedAllocator(const UnclearedAllocator<U>&) noexcept {}

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
  }
};

/// Numbers of all cells, nodes or unknowns: a vector that does not clear what it gets, which one thread would do.
template <class T>
using Array = std::vector<T, UnclearedAllocator<T>>;

/// So many numbers, which have any value until they are written to; pages are fetched by all threads.
template <class T>
Array<T> unset(std::size_t count) {
  Array<T> numbers;
  numbers.reserve(count);
  fetch_pages(numbers.data(), count * sizeof(T));
  numbers.resize(count);
  return numbers;
}

/// So many times a value, written by all threads.
template <class T>
Array<T> array_of(std::size_t count, T value = T()) {
  Array<T> numbers = unset<T>(count);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) numbers[i] = value;
  return numbers;
}

/// std::vector<T>(count, value), its pages fetched by all threads and cleared by one.
template <class T>
std::vector<T> filled(std::size_t count, T value = T()) {
  std::vector<T> numbers;
  numbers.reserve(count);
  fetch_pages(numbers.data(), count * sizeof(T));
  if (value == T())
    numbers.resize(count);  // as one clears memory, which does not read it first
  else
    numbers.resize(count, value);
  return numbers;
}

}  // namespace femcg::mesh

#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace femcg::mesh {

/// Touches the pages of `memory` with all threads, as large pages where available; does nothing for small sizes. Only a
/// hint: otherwise the first thread that writes there faults the pages in one by one, which takes most of a second per
/// gigabyte.
void fetch_pages(void* memory, std::size_t bytes);

/// Allocator whose default construction leaves a value uninitialised.
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

/// Values of all cells, nodes or unknowns: a vector that does not clear new elements, which a single thread would do.
template <class T>
using Array = std::vector<T, UnclearedAllocator<T>>;

/// `count` uninitialised values; their pages are fetched by all threads.
template <class T>
Array<T> unset(std::size_t count) {
  Array<T> numbers;
  numbers.reserve(count);
  fetch_pages(numbers.data(), count * sizeof(T));
  numbers.resize(count);
  return numbers;
}

/// `count` copies of a value, written by all threads.
template <class T>
Array<T> array_of(std::size_t count, T value = T()) {
  Array<T> numbers = unset<T>(count);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i) numbers[i] = value;
  return numbers;
}

/// std::vector<T>(count, value); its pages are fetched by all threads and written by one.
template <class T>
std::vector<T> filled(std::size_t count, T value = T()) {
  std::vector<T> numbers;
  numbers.reserve(count);
  fetch_pages(numbers.data(), count * sizeof(T));
  if (value == T())
    numbers.resize(count);  // clears memory without reading it first
  else
    numbers.resize(count, value);
  return numbers;
}

}  // namespace femcg::mesh

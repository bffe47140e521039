#pragma once

#include <cstddef>
#include <vector>

namespace femcg::mesh {

/// Has all threads fetch the pages of some memory, in large pages where they are to be had; does nothing for little
/// memory. A wish: without it, the first thread to write there fetches them one by one, for the better part of a second
/// a gigabyte.
void fetch_pages(void* memory, std::size_t bytes);

/// std::vector<T>(count, value), its pages fetched by all threads.
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

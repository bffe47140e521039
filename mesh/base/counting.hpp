#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"

// Parallel counting. No result depends on the number of threads or their order.

namespace femcg::mesh {

/// Atomic minimum: least = min(least, value).
inline void lower(std::int32_t& least, std::int32_t value) {
  const std::atomic_ref<std::int32_t> shared(least);
  std::int32_t seen = shared.load(std::memory_order_relaxed);
  while (value < seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Atomic maximum: greatest = max(greatest, value).
inline void raise(std::int32_t& greatest, std::int32_t value) {
  const std::atomic_ref<std::int32_t> shared(greatest);
  std::int32_t seen = shared.load(std::memory_order_relaxed);
  while (value > seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

/// Adds 1 to a counter atomically and returns its previous value.
template <class T>
T count_one(T& counter) {
  return std::atomic_ref<T>(counter).fetch_add(1, std::memory_order_relaxed);
}

/// Exclusive prefix sum in place, in parallel; returns the sum of all numbers.
template <class T>
T sum_before(std::span<T> numbers) {
  constexpr std::size_t block = std::size_t{1} << 15;
  std::vector<T> of_block((numbers.size() + block - 1) / block);
  const auto numbers_of = [&](std::size_t b) {
    return numbers.subspan(b * block, std::min(block, numbers.size() - b * block));
  };
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < of_block.size(); ++b)
    for (const T number : numbers_of(b)) of_block[b] += number;
  T total = 0;
  for (T& sum : of_block) {
    const T own = sum;
    sum = total;
    total += own;
  }
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < of_block.size(); ++b) {
    T sum = of_block[b];
    for (T& number : numbers_of(b)) {
      const T own = number;
      number = sum;
      sum += own;
    }
  }
  return total;
}

/// Numbers the items that at least one of `count` groups contains, in ascending order: number[i] becomes the number of
/// item i, or of the next used item if i is unused. `number` must be 0 before; items_of(g) returns the items of group
/// g. Returns the number of used items.
template <class ItemsOf>
std::int32_t number_used(std::int64_t count, const ItemsOf& items_of, std::span<std::int32_t> number) {
#pragma omp parallel for schedule(static)
  for (std::int64_t g = 0; g < count; ++g)
    for (const std::int32_t item : items_of(g)) raise(number[item], 1);
  return sum_before(number);
}

/// Items that find(i, found) appends for i = 0 to count - 1, in this order; found in parallel, block by block.
template <class Item, class Find>
std::vector<Item> collect(std::int64_t count, Find find, std::int64_t block = std::int64_t{1} << 15) {
  std::vector<std::vector<Item>> of_block(static_cast<std::size_t>((count + block - 1) / block));
  parallel_for(of_block.size(), [&](std::size_t b) {
    const std::int64_t begin = static_cast<std::int64_t>(b) * block, end = std::min(begin + block, count);
    for (std::int64_t i = begin; i < end; ++i) find(i, of_block[b]);
  });
  std::vector<std::size_t> begin(of_block.size());
  std::size_t total = 0;
  for (std::size_t b = 0; b < of_block.size(); ++b) begin[b] = std::exchange(total, total + of_block[b].size());
  std::vector<Item> all;
  all.reserve(total);
  fetch_pages(all.data(), total * sizeof(Item));
  all.resize(total);
  parallel_for(of_block.size(), [&](std::size_t b) {
    std::ranges::move(of_block[b], all.begin() + static_cast<std::ptrdiff_t>(begin[b]));
    of_block[b] = {};
  });
  return all;
}

}  // namespace femcg::mesh

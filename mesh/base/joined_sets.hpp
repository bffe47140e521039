#pragma once

#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "mesh/base/pages.hpp"

namespace femcg::mesh {

/// Disjoint sets of the numbers below `count`, joined by several threads concurrently. Each number points to a lesser
/// one of its set, the least to itself, so that the result does not depend on the threads (Rem 1976, path halving after
/// Tarjan & van Leeuwen 1984).
class JoinedSets {
 public:
  explicit JoinedSets(std::int32_t count) : parent_(filled<std::int32_t>(static_cast<std::size_t>(count))) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  /// Least number of the set of `number`; final once all sets are joined.
  std::int32_t least(std::int32_t number) {
    while (true) {
      const std::int32_t parent = at(number).load(std::memory_order_relaxed);
      if (parent == number) return number;
      const std::int32_t grandparent = at(parent).load(std::memory_order_relaxed);
      if (grandparent != parent) at(number).store(grandparent, std::memory_order_relaxed);
      number = grandparent;
    }
  }

  void join(std::int32_t a, std::int32_t b) {
    while ((a = least(a)) != (b = least(b))) {
      if (a < b) std::swap(a, b);
      std::int32_t expected = a;
      if (at(a).compare_exchange_strong(expected, b, std::memory_order_relaxed)) return;
    }
  }

 private:
  std::atomic_ref<std::int32_t> at(std::int32_t number) { return std::atomic_ref<std::int32_t>(parent_[number]); }

  std::vector<std::int32_t> parent_;
};

}  // namespace femcg::mesh

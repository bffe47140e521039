#pragma once

#include <cstdint>
#include <span>

namespace femcg::operators {

/// Ownership of the entries of a vector in the global vector: by default all of them; over several processes the first
/// entries are owned, the others are copies (ghosts) of entries that other processes own.
class VectorOwnership {
 public:
  VectorOwnership() = default;
  VectorOwnership(const VectorOwnership&) = delete;
  VectorOwnership& operator=(const VectorOwnership&) = delete;
  virtual ~VectorOwnership() = default;

  /// The sum of a number over all processes, which all call it.
  virtual double sum(double mine) const { return mine; }
  /// How many of so many entries count in sums.
  virtual std::int64_t counted(std::int64_t entries) const { return entries; }
  /// The number in the whole system of each entry; empty where that is its place.
  virtual std::span<const std::int64_t> numbers() const { return {}; }
};

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <span>

namespace femcg::operators {

/// How vectors belong to those of a whole system: a vector is all there is of it, unless several processes have a part
/// each, of which the first entries count and the others are copies of what others have.
class VectorShare {
 public:
  VectorShare() = default;
  VectorShare(const VectorShare&) = delete;
  VectorShare& operator=(const VectorShare&) = delete;
  virtual ~VectorShare() = default;

  /// The sum of a number over all processes, which all call it.
  virtual double sum(double mine) const { return mine; }
  /// How many of so many entries count in sums.
  virtual std::int64_t counted(std::int64_t entries) const { return entries; }
  /// The number in the whole system of each entry; empty where that is its place.
  virtual std::span<const std::int64_t> numbers() const { return {}; }
};

}  // namespace femcg::operators

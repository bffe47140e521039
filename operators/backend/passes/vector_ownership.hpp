#pragma once

#include <cstdint>
#include <span>

namespace femcg::operators {

/// Ownership of the entries of a vector in the global vector: by default all are owned; over several processes the
/// first entries are, and the others are ghosts, copies of entries that other processes own.
class VectorOwnership {
 public:
  VectorOwnership() = default;
  VectorOwnership(const VectorOwnership&) = delete;
  VectorOwnership& operator=(const VectorOwnership&) = delete;
  virtual ~VectorOwnership() = default;

  /// Sum of a value over all processes. Collective.
  virtual double sum(double mine) const { return mine; }
  /// Number of entries that count in sums, of `entries` in all.
  virtual std::int64_t counted(std::int64_t entries) const { return entries; }
  /// Global index of each entry; empty if it equals the local index.
  virtual std::span<const std::int64_t> numbers() const { return {}; }
};

}  // namespace femcg::operators

#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/vector.hpp"
#include "operators/cellwise/matrix_free/robin/robin_terms.hpp"

namespace femcg::operators {

/// y += R x on the GPU, with R the Robin terms of a form, facet by facet and then unknown by unknown in a fixed order:
/// two runs give the same bits.
template <std::floating_point T>
class RobinOnGpu {
 public:
  explicit RobinOnGpu(const RobinTerms& terms);
  /// Copies the terms, rounded to T.
  explicit RobinOnGpu(const RobinOnGpu<double>* of);
  ~RobinOnGpu();

  bool empty() const;
  /// Bytes stored, and bytes moved by a product besides x and y: the facets' contributions, written and read.
  std::int64_t stored_bytes() const;
  std::int64_t moved_bytes() const;
  /// First step of a product: computes the facets' contributions, concurrently with the product of the cells.
  void begin(const Vector<T>& x) const;
  /// Second step: y += R x, and *energy += x'R x if `energy` is not null.
  void end(Vector<T>& y, Scalar* energy) const;
  void add_diagonal(Vector<T>& diagonal) const;

 private:
  template <std::floating_point>
  friend class RobinOnGpu;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::operators

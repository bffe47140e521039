#pragma once

#include <concepts>
#include <memory>

#include "operators/backend/vector.hpp"
#include "operators/cellwise/matrix_free/robin/robin_terms.hpp"

namespace femcg::operators {

/// y += R x on the GPU, the Robin terms of a form, facet by facet and then unknown by unknown in a fixed order: two
/// runs give the same bits.
template <std::floating_point T>
class RobinOnGpu {
 public:
  explicit RobinOnGpu(const RobinTerms& terms);
  /// Rounds.
  explicit RobinOnGpu(const RobinOnGpu<double>* of);
  ~RobinOnGpu();

  bool empty() const;
  /// Bytes stored, and moved by a product beside x and y: the facets' contributions to their nodes, written and read.
  std::int64_t stored_bytes() const;
  std::int64_t moved_bytes() const;
  /// A product in two steps, between which y is made without the terms: the facets' part is worked out beside that.
  void begin(const Vector<T>& x) const;
  /// y += R x, and *energy += x'R x where there is one.
  void end(Vector<T>& y, Scalar* energy) const;
  void add_diagonal(Vector<T>& diagonal) const;

 private:
  template <std::floating_point>
  friend class RobinOnGpu;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"

namespace femcg::solver {

/// Connected components of a mesh that is distributed over processes. Every process knows all components, by global
/// numbers.
class SharedComponents {
 public:
  /// `of_cells`: component of each cell of this process, from 0 on, or -1; `held`: nonzero for those with a Dirichlet
  /// or Robin condition. Collective.
  SharedComponents(const operators::SharedDofs& shared, const mesh::FunctionSpace& space,
                   std::span<const std::int32_t> of_cells, const std::vector<char>& held);

  std::int64_t count() const;
  /// Index of a component of this process among all, below count().
  std::int32_t place(std::int32_t of_process) const { return places_[number(of_process)]; }
  /// Global number of a component of this process.
  std::int32_t number(std::int32_t of_process) const { return least_[first_ + of_process]; }
  /// For each component, by index, true if it is held on any process.
  std::vector<char> held() const {
    std::vector<char> held;
    for (std::size_t i = 0; i < least_.size(); ++i)
      if (places_[i] >= 0) held.push_back(held_[i]);
    return held;
  }
  /// Numbers of the components that are not held on any process, ascending.
  std::vector<std::int32_t> not_held() const;

 private:
  // Components of all processes in rank order; those of this process start at first_.
  std::vector<std::int32_t> least_;   ///< least number among the joined components
  std::vector<char> held_;            ///< of the least ones
  std::vector<std::int32_t> places_;  ///< of the least ones; -1 for the others
  std::int32_t first_ = 0;
};

}  // namespace femcg::solver

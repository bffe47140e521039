#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"

namespace femcg::solver {

/// The connected components of a mesh of which several processes have parts. Every process knows all of them, by
/// numbers that are the same for all.
class SharedComponents {
 public:
  /// `of_cells` are the components of the cells that are here, from 0 on, or -1; some of them are held. Collective.
  SharedComponents(const operators::SharedDofs& shared, const mesh::FunctionSpace& space,
                   std::span<const std::int32_t> of_cells, const std::vector<char>& held);

  std::int64_t count() const;
  /// The place of a component of this process among all, below count().
  std::int32_t place(std::int32_t of_process) const { return places_[number(of_process)]; }
  /// The number among all of a component of this process.
  std::int32_t number(std::int32_t of_process) const { return least_[first_ + of_process]; }
  /// True for each, by its place, that is held on any process.
  std::vector<char> held() const {
    std::vector<char> held;
    for (std::size_t i = 0; i < least_.size(); ++i)
      if (places_[i] >= 0) held.push_back(held_[i]);
    return held;
  }
  /// The components that nothing holds, on any process; ascending.
  std::vector<std::int32_t> not_held() const;

 private:
  // One process's components stand behind the other's, from first_ on those of this one.
  std::vector<std::int32_t> least_;   ///< of those that each is joined with
  std::vector<char> held_;            ///< of the least ones
  std::vector<std::int32_t> places_;  ///< of the least ones
  std::int32_t first_ = 0;
};

}  // namespace femcg::solver

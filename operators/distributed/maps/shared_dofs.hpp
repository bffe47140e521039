#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// The dofs of a space on a mesh part that other processes have as well, and who counts them in sums over all.
class SharedDofs {
 public:
  /// Another process, and the dofs that both have, in an order that is the same for both.
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> dofs;
  };

  /// A single process: no shared dofs.
  SharedDofs() = default;
  /// Collective. The communicator must outlive it.
  SharedDofs(const Communicator& communicator, const mesh::FunctionSpace& space, const mesh::MeshPart& part);

  const std::vector<Neighbour>& neighbours() const { return neighbours_; }
  /// True if this process is the lowest of those that have a dof.
  bool owns(std::int32_t dof) const { return not_owned_.empty() || not_owned_[dof] == 0; }

  // Together, as below; one process has nothing to do.

  void sum(std::span<double> numbers) const;
  double sum(double number) const {
    sum(std::span(&number, 1));
    return number;
  }
  bool any(bool mine) const { return sum(mine ? 1.0 : 0.0) > 0; }
  /// The least of what the processes have.
  double least(double mine) const;
  /// Values of all processes, by rank.
  template <class Container>
  std::vector<Container> gathered(const Container& mine) const {
    return communicator_ != nullptr ? communicator_->gathered(mine) : std::vector<Container>{mine};
  }
  bool is_alone() const { return communicator_ == nullptr || communicator_->size() == 1; }
  int rank() const { return communicator_ != nullptr ? communicator_->rank() : 0; }
  /// Replaces what this process has of each dof by the sum of what all have, the same bits for all.
  void add_up(std::span<double> of_dofs) const;
  /// Gives each neighbour a list, and gets one from each, in the order of neighbours().
  template <class T>
  std::vector<std::vector<T>> exchanged(const std::vector<std::vector<T>>& lists) const {
    return communicator_ != nullptr ? communicator_->exchanged(std::span<const int>(ranks_), lists)
                                    : std::vector<std::vector<T>>();
  }

 private:
  const Communicator* communicator_ = nullptr;
  std::vector<Neighbour> neighbours_;
  std::vector<int> ranks_;  ///< of the neighbours
  std::vector<char> not_owned_;
};

/// Finds where the cells of other processes go on behind facets that only one cell here has: Mesh::cuts. Collective.
void find_cuts(const Communicator& communicator, mesh::MeshPart& part);

/// A part whose cells are refined once, as those of all processes are. Collective.
mesh::MeshPart refined(const Communicator& communicator, const mesh::MeshPart& part);

}  // namespace femcg::operators

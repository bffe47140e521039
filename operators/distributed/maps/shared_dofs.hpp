#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/messages/communicator.hpp"

namespace femcg::operators {

/// The dofs of a space on a mesh part that other processes have too, and the process that counts each in global sums.
class SharedDofs {
 public:
  /// Another process, and the dofs that both have, in the same order on both.
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

  // Collective, as are all functions below; without effect for one process.

  void sum(std::span<double> numbers) const;
  double sum(double number) const {
    sum(std::span(&number, 1));
    return number;
  }
  bool any(bool mine) const { return sum(mine ? 1.0 : 0.0) > 0; }
  /// Minimum over the processes.
  double least(double mine) const;
  /// Values of all processes, by rank.
  template <class Container>
  std::vector<Container> gathered(const Container& mine) const {
    return communicator_ != nullptr ? communicator_->gathered(mine) : std::vector<Container>{mine};
  }
  bool is_alone() const { return communicator_ == nullptr || communicator_->size() == 1; }
  int rank() const { return communicator_ != nullptr ? communicator_->rank() : 0; }
  /// Replaces the values of shared dofs by their sums over the processes, with the same bits on all.
  void add_up(std::span<double> of_dofs) const;
  /// Sends each neighbour a list and receives one from each, in the order of neighbours().
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

/// Sets Mesh::cuts: the boundary facets of this part behind which cells of other processes follow. Collective.
void find_cuts(const Communicator& communicator, mesh::MeshPart& part);

/// The part with its cells refined once, consistently with all other processes. Collective.
mesh::MeshPart refined(const Communicator& communicator, const mesh::MeshPart& part);

}  // namespace femcg::operators

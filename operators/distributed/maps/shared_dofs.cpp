#include "operators/distributed/maps/shared_dofs.hpp"

#include <algorithm>
#include <tuple>

#include "mesh/dofs/ordering.hpp"
#include "mesh/parts/shared_vertices.hpp"

namespace femcg::operators {

namespace {

using mesh::OnSharedVertices;

std::vector<int> ranks_of(std::span<const mesh::MeshPart::Neighbour> neighbours) {
  std::vector<int> ranks;
  for (const mesh::MeshPart::Neighbour& neighbour : neighbours) ranks.push_back(neighbour.rank);
  return ranks;
}

/// For each list the indices of its items that the other process's list has too, in the order of the keys.
std::vector<std::vector<std::int32_t>> common(const Communicator& communicator, std::span<const int> ranks,
                                              const std::vector<std::vector<OnSharedVertices>>& mine) {
  std::vector<std::vector<OnSharedVertices::Key>> keys;
  for (const auto& list : mine) {
    std::vector<OnSharedVertices::Key>& of_list = keys.emplace_back();
    for (const OnSharedVertices& each : list) of_list.push_back(each.key);
  }
  const auto theirs = communicator.exchanged(ranks, keys);
  std::vector<std::vector<std::int32_t>> indices(mine.size());
  for (std::size_t k = 0; k < mine.size(); ++k)
    for (const OnSharedVertices& each : mine[k])
      if (std::ranges::binary_search(theirs[k], each.key)) indices[k].push_back(each.index);
  return indices;
}

}  // namespace

SharedDofs::SharedDofs(const Communicator& communicator, const mesh::FunctionSpace& space, const mesh::MeshPart& part)
    : communicator_(&communicator), not_owned_(space.dof_count(), 0) {
  const std::vector<int> ranks = ranks_of(part.neighbours);
  auto dofs = common(communicator, ranks, mesh::dofs_on_shared_vertices(space, part.neighbours));
  for (std::size_t k = 0; k < dofs.size(); ++k) {
    if (dofs[k].empty()) continue;
    if (ranks[k] < communicator.rank())
      for (const std::int32_t dof : dofs[k]) not_owned_[dof] = 1;
    ranks_.push_back(ranks[k]);
    neighbours_.push_back({ranks[k], std::move(dofs[k])});
  }
}

void SharedDofs::sum(std::span<double> numbers) const {
  if (communicator_ != nullptr && !numbers.empty()) communicator_->sum(numbers);
}

double SharedDofs::least(double mine) const {
  double least = mine;
  for (const auto& other : gathered(std::vector{mine})) least = std::min(least, other.front());
  return least;
}

void SharedDofs::add_up(std::span<double> of_dofs) const {
  if (communicator_ == nullptr) return;
  std::vector<std::vector<double>> mine;
  for (const Neighbour& neighbour : neighbours_) {
    std::vector<double>& values = mine.emplace_back();
    for (const std::int32_t dof : neighbour.dofs) values.push_back(of_dofs[dof]);
  }
  const auto theirs = exchanged(mine);
  // In the order of ranks, own contribution included.
  std::vector<std::tuple<std::int32_t, int, double>> terms;
  for (std::size_t k = 0; k < neighbours_.size(); ++k)
    for (std::size_t i = 0; i < neighbours_[k].dofs.size(); ++i) {
      terms.emplace_back(neighbours_[k].dofs[i], neighbours_[k].rank, theirs[k][i]);
      terms.emplace_back(neighbours_[k].dofs[i], communicator_->rank(), mine[k][i]);
    }
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& [dof, rank, value] = terms[i];
    const bool is_first = i == 0 || std::get<0>(terms[i - 1]) != dof;
    of_dofs[dof] = is_first ? value : of_dofs[dof] + value;
  }
}

void find_cuts(const Communicator& communicator, mesh::MeshPart& part) {
  part.mesh.cuts.clear();
  const std::vector<mesh::BoundaryFacet> facets = mesh::boundary_facets(part.mesh);
  const auto cuts = common(communicator, ranks_of(part.neighbours),
                           mesh::facets_on_shared_vertices(part.mesh, facets, part.neighbours));
  std::vector<std::int32_t> numbers;
  for (const auto& of_neighbour : cuts) numbers.insert(numbers.end(), of_neighbour.begin(), of_neighbour.end());
  std::ranges::sort(numbers);
  for (const std::int32_t number : numbers) part.mesh.cuts.push_back(facets[number]);
}

mesh::MeshPart refined(const Communicator& communicator, const mesh::MeshPart& part) {
  const mesh::FunctionSpace lattice = mesh::lattice_for_refinement(part.mesh);
  const SharedDofs shared(communicator, lattice, part);
  std::vector<mesh::MeshPart::Neighbour> nodes;
  for (const SharedDofs::Neighbour& neighbour : shared.neighbours()) nodes.push_back({neighbour.rank, neighbour.dofs});
  return mesh::refined(part, lattice, nodes);
}

}  // namespace femcg::operators

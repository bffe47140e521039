#include "solver/problem/shared_components.hpp"

#include <algorithm>
#include <atomic>

#include "mesh/base/joined_sets.hpp"
#include "mesh/base/pages.hpp"

namespace femcg::solver {

namespace {

/// A component of this process and one of another process with a common dof.
struct Joint {
  std::int32_t here, rank, there;
  auto operator<=>(const Joint&) const = default;
};

std::vector<Joint> joints_of(const operators::SharedDofs& shared, const mesh::FunctionSpace& space,
                             std::span<const std::int32_t> of_cells) {
  if (shared.neighbours().empty()) return {};
  std::vector<std::int32_t> of_dofs = mesh::filled<std::int32_t>(space.dof_count(), -1);
#pragma omp parallel for schedule(static)
  for (std::int32_t cell = 0; cell < std::ssize(of_cells); ++cell)
    for (const std::int32_t dof : space.dofs(cell))  // all cells of a dof are in one component, or in none
      if (of_cells[cell] >= 0) std::atomic_ref(of_dofs[dof]).store(of_cells[cell], std::memory_order_relaxed);
  std::vector<std::vector<std::int32_t>> mine;
  for (const operators::SharedDofs::Neighbour& neighbour : shared.neighbours()) {
    std::vector<std::int32_t>& components = mine.emplace_back();
    for (const std::int32_t dof : neighbour.dofs) components.push_back(of_dofs[dof]);
  }
  const auto theirs = shared.exchanged(mine);
  std::vector<Joint> joints;
  for (std::size_t k = 0; k < theirs.size(); ++k)
    for (std::size_t i = 0; i < mine[k].size(); ++i)
      if (mine[k][i] >= 0 && theirs[k][i] >= 0)
        joints.push_back({mine[k][i], shared.neighbours()[k].rank, theirs[k][i]});
  std::ranges::sort(joints);
  const auto twice = std::ranges::unique(joints);
  joints.erase(twice.begin(), twice.end());
  return joints;
}

}  // namespace

SharedComponents::SharedComponents(const operators::SharedDofs& shared, const mesh::FunctionSpace& space,
                                   std::span<const std::int32_t> of_cells, const std::vector<char>& held) {
  std::vector<std::int32_t> firsts;  // first number of each process
  for (const std::vector<char>& of_process : shared.gathered(held)) {
    firsts.push_back(static_cast<std::int32_t>(held_.size()));
    held_.insert(held_.end(), of_process.begin(), of_process.end());
  }
  first_ = firsts[shared.rank()];
  mesh::JoinedSets joined(static_cast<std::int32_t>(held_.size()));
  const auto joints = shared.gathered(joints_of(shared, space, of_cells));
  for (std::size_t rank = 0; rank < joints.size(); ++rank)
    for (const Joint& joint : joints[rank]) joined.join(firsts[rank] + joint.here, firsts[joint.rank] + joint.there);
  for (std::int32_t i = 0; i < std::ssize(held_); ++i) {
    least_.push_back(joined.least(i));
    if (held_[i] != 0) held_[least_[i]] = 1;
  }
  std::int32_t next = 0;
  for (std::int32_t i = 0; i < std::ssize(least_); ++i) places_.push_back(least_[i] == i ? next++ : -1);
}

std::int64_t SharedComponents::count() const {
  std::int64_t count = 0;
  for (std::int32_t i = 0; i < std::ssize(least_); ++i) count += least_[i] == i ? 1 : 0;
  return count;
}

std::vector<std::int32_t> SharedComponents::not_held() const {
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < std::ssize(least_); ++i)
    if (least_[i] == i && held_[i] == 0) numbers.push_back(i);
  return numbers;
}

}  // namespace femcg::solver

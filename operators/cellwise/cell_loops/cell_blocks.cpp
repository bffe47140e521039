#include "operators/cellwise/cell_loops/cell_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <numeric>

#include "mesh/base/counting.hpp"
#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"

namespace femcg::operators {

namespace {

/// Number of batches per block: many blocks for many threads, but not so small that most of their unknowns are shared,
/// and few enough unknowns for a core's L2 cache and for 16-bit indices.
std::int32_t batches_per_block(std::int32_t batches, int lanes, int dofs) {
  constexpr int least = 64 / mesh::register_bytes;
  const std::int32_t for_threads = batches / 128;
  const std::int32_t for_cache = 16384 / (lanes * dofs);
  return std::clamp(std::min(for_threads, for_cache), least,
                    std::numeric_limits<std::uint16_t>::max() / (lanes * dofs));
}

}  // namespace

template <std::floating_point T>
CellBlocks<T>::CellBlocks(const BilinearForm& form, ConflictResolution resolution)
    : resolution_(resolution), dofs_(form.dofs_per_cell()), batches_((form.cells() + lanes - 1) / lanes) {
  const std::int32_t step = batches_per_block(batches_, lanes, dofs_);
  for (std::int32_t batch = 0; batch < batches_; batch += step)
    blocks_.push_back({batch, std::min(batch + step, batches_), 0, 0, 0, 0});
  number_blocks(form);
  if (resolution_ == ConflictResolution::gather) link_contributions();
  if (resolution_ == ConflictResolution::coloured)
    colouring_ = colour_parts(static_cast<std::int32_t>(blocks_.size()), form.unknowns, [&](std::int32_t block) {
      return unknowns(blocks_[block]).subspan(blocks_[block].private_count);
    });
}

/// The unknowns of each block, ascending.
template <std::floating_point T>
std::vector<std::vector<std::int32_t>> CellBlocks<T>::unknowns_of_blocks(const BilinearForm& form) const {
  std::vector<std::vector<std::int32_t>> lists(blocks_.size());
  const auto make = [&](const Block& block, std::vector<std::int32_t>& list) {
    const std::int32_t end = std::min(block.last_batch * lanes, form.cells());
    for (std::int32_t cell = block.first_batch * lanes; cell < end; ++cell)
      form.for_unknowns(cell, [&](std::int32_t i) { list.push_back(i); });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  mesh::parallel_for(blocks_.size(), [&](std::size_t b) { make(blocks_[b], lists[b]); });
  return lists;
}

template <std::floating_point T>
void CellBlocks<T>::number_blocks(const BilinearForm& form) {
  std::vector<std::vector<std::int32_t>> lists = unknowns_of_blocks(form);
  std::vector<std::uint8_t> uses = mesh::filled<std::uint8_t>(form.unknowns);  // 2 or more: shared
  std::int64_t total = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].first_unknown = total;
    blocks_[b].unknown_count = static_cast<std::int32_t>(lists[b].size());
    largest_block_ = std::max(largest_block_, blocks_[b].unknown_count);
    total += blocks_[b].unknown_count;
  }
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (const std::int32_t i : lists[b])
      if (std::atomic_ref(uses[i]).load(std::memory_order_relaxed) < 2) mesh::count_one(uses[i]);
  const auto is_shared = [&](std::int64_t i, std::vector<std::int32_t>& found) {
    if (uses[i] > 1) found.push_back(static_cast<std::int32_t>(i));
  };
  const std::vector<std::int32_t> shared_unknowns = mesh::collect<std::int32_t>(form.unknowns, is_shared);
  shared_ = Vector<std::int32_t>(std::ssize(shared_unknowns));
  std::ranges::copy(shared_unknowns, shared_.data());

  unknowns_ = Vector<std::int32_t>(total);
  local_indices_ = Vector<std::uint16_t>(std::int64_t{batches_} * dofs_ * lanes);
#pragma omp parallel for schedule(static)
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    const auto shared =
        std::stable_partition(lists[b].begin(), lists[b].end(), [&](std::int32_t i) { return uses[i] == 1; });
    block.private_count = static_cast<std::int32_t>(shared - lists[b].begin());
    std::copy(lists[b].begin(), lists[b].end(), unknowns_.data() + block.first_unknown);
    const auto place = [&](std::int32_t unknown) {
      if (unknown < 0) return block.unknown_count;
      const auto begin = uses[unknown] == 1 ? lists[b].begin() : shared,
                 end = uses[unknown] == 1 ? shared : lists[b].end();
      return static_cast<std::int32_t>(std::lower_bound(begin, end, unknown) - lists[b].begin());
    };
    for (std::int32_t batch = block.first_batch; batch < block.last_batch; ++batch)
      for (int l = 0; l < lanes; ++l) {
        std::uint16_t* const local_indices = local_indices_.data() + std::int64_t{batch} * dofs_ * lanes + l;
        if (const std::int32_t cell = batch * lanes + l; cell < form.cells())
          form.for_nodes(cell, [&](int a, std::int32_t unknown) {
            local_indices[a * lanes] = static_cast<std::uint16_t>(place(unknown));
          });
        else
          for (int a = 0; a < dofs_; ++a) local_indices[a * lanes] = static_cast<std::uint16_t>(block.unknown_count);
      }
  }
}

/// Numbers the blocks' contributions, block after block, and lists those of each shared unknown.
template <std::floating_point T>
void CellBlocks<T>::link_contributions() {
  const auto shared = [&](const Block& block) { return unknowns(block).subspan(block.private_count); };
  const auto index = [&](std::int32_t unknown) {
    return std::lower_bound(shared_.span().begin(), shared_.span().end(), unknown) - shared_.span().begin();
  };
  gather_offsets_ = Vector<std::int64_t>(shared_.size() + 1);
  fill(gather_offsets_, std::int64_t{0});
  std::int64_t total = 0;
  for (Block& block : blocks_) {
    block.first_contribution = total;
    total += block.unknown_count - block.private_count;
    for (const std::int32_t i : shared(block)) ++gather_offsets_[index(i) + 1];
  }
  std::partial_sum(gather_offsets_.span().begin(), gather_offsets_.span().end(), gather_offsets_.span().begin());
  std::vector<std::int64_t> next(gather_offsets_.span().begin(), gather_offsets_.span().end());
  gathered_ = Vector<std::int64_t>(total);
  contribution_count_ = total;
  contributions_ = Vector<T>(total);
  for (const Block& block : blocks_) {
    std::int64_t contribution = block.first_contribution;
    for (const std::int32_t i : shared(block)) gathered_[next[index(i)]++] = contribution++;
  }
}

template class CellBlocks<double>;
template class CellBlocks<float>;

}  // namespace femcg::operators

#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/simd.hpp"
#include "operators/backend/threads/thread_team.hpp"
#include "operators/backend/vector.hpp"
#include "operators/cellwise/cell_loops/colouring.hpp"
#include "operators/cellwise/cell_loops/conflict_resolution.hpp"
#include "operators/cellwise/cell_loops/lanes.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The sum over cells of the host, y = sum_c P_c' K_c P_c x.
///
/// Cells come in batches of `lanes` (SIMD over cells), consecutive batches in blocks. A block copies its part of x to a
/// buffer, processes its batches there, and then adds its part of y to the whole. Unknowns of one block only are
/// stored; unknowns of the interface, which several blocks share, are added atomically, or colour by colour, where
/// blocks of one colour share no unknown; or each block keeps its contributions to them, which are gathered at the end
/// in the order of the blocks. Constrained dofs and the empty lanes of the last batch have one extra index of the
/// buffer, where x is zero.
///
/// Blocks and colours do not depend on the number of threads: coloured and gathered sums have the same bits.
template <std::floating_point T>
class CellBlocks {
 public:
  static constexpr int lanes = static_cast<int>(mesh::register_bytes / sizeof(T));

  struct Block {
    std::int32_t first_batch, last_batch;       ///< [first, last)
    std::int64_t first_unknown;                 ///< index in the list of all blocks' unknowns
    std::int32_t private_count, unknown_count;  ///< private ones first, then shared ones
    std::int64_t first_contribution;            ///< index of its contribution to its first shared unknown
  };

  /// Colours the blocks only for ConflictResolution::coloured.
  CellBlocks(const BilinearForm& form, ConflictResolution resolution);

  std::int32_t batches() const { return batches_; }
  int dofs() const { return dofs_; }
  int colours() const { return colouring_.colours(); }  ///< 0 without colouring
  const std::vector<Block>& blocks() const { return blocks_; }
  std::int64_t bytes() const {
    return local_indices_.bytes() + unknowns_.bytes() + static_cast<std::int64_t>(blocks_.size() * sizeof(Block)) +
           shared_.bytes() + gather_offsets_.bytes() + gathered_.bytes() +
           contribution_count_ * static_cast<std::int64_t>(sizeof(T));
  }
  /// Blocks of each colour, colour by colour.
  const std::vector<std::int32_t>& coloured_blocks() const { return colouring_.parts; }
  const std::vector<std::int32_t>& colour_offsets() const { return colouring_.offsets; }
  std::span<const std::int32_t> unknowns(const Block& block) const {
    return {unknowns_.data() + block.first_unknown, static_cast<std::size_t>(block.unknown_count)};
  }
  /// Indices in the block's buffer of the dofs of a batch, [dofs][lanes].
  const std::uint16_t* local_indices(std::int32_t batch) const {
    return local_indices_.data() + std::int64_t{batch} * dofs_ * lanes;
  }

  /// y = sum over cells, and x'y as a sum over blocks. cells(batch, x_e, y_e, scratch) writes y_e = K_e x_e,
  /// [dofs][lanes], with a scratch array of `scratch_size` for its thread alone; after(block, x, y) may add more to the
  /// block's buffers and returns its contribution to the energy.
  template <class CellWork, class BlockWork>
  void product(const T* x, T* y, double* energy, std::int64_t scratch_size, CellWork cells, BlockWork after) const {
    product(OneVector{x, y}, energy, scratch_size, cells, after);
  }
  /// The same for multi-vectors, each batch for all vectors one after the other: its stored data come from memory once.
  template <class CellWork, class BlockWork>
  void product(const MultiVector<T>& x, MultiVector<T>& y, double* energies, std::int64_t scratch_size, CellWork cells,
               BlockWork after) const {
    product(SeveralVectors{x.data(), y.data(), x.count(), x.stride()}, energies, scratch_size, cells, after);
  }

 private:
  std::vector<std::vector<std::int32_t>> unknowns_of_blocks(const BilinearForm& form) const;
  void number_blocks(const BilinearForm& form);
  void link_contributions();

  /// Input and output of a product; entry i of vector c is at i stride + c. OneVector is known at compile time.
  struct OneVector {
    const T* x;
    T* y;
    static constexpr int count = 1, stride = 1;
  };
  struct SeveralVectors {
    const T* x;
    T* y;
    int count, stride;
  };
  /// Buffers of a thread's share of the work: a block's part of x and y, vector after vector, and scratch for a batch.
  struct Buffers {
    T *x, *y;
    std::int64_t room;  ///< stride between vectors
    Lanes<T>* cell;
  };
  template <class Vectors, class CellWork, class BlockWork>
  void product(const Vectors& v, double* energies, std::int64_t scratch_size, CellWork& cells, BlockWork& after) const;
  template <class Vectors, class CellWork, class BlockWork>
  void work_on(const Block& block, const Vectors& v, const Buffers& buffers, CellWork& cells, BlockWork& after,
               std::int32_t number) const;
  template <class Vectors>
  void add(const Block& block, const T* y_block, const Vectors& v, int c) const;

  ConflictResolution resolution_;
  int dofs_;
  std::int32_t batches_;
  std::int32_t largest_block_ = 0;  ///< unknowns
  std::vector<Block> blocks_;
  Vector<std::int32_t> unknowns_;        ///< of all blocks, block after block
  Vector<std::uint16_t> local_indices_;  ///< [batches][dofs][lanes]
  Vector<std::int32_t> shared_;          ///< unknowns of two or more blocks
  Colouring colouring_;
  /// For a gather: the contributions to shared_[k] are numbers gathered_[gather_offsets_[k]] to
  /// gathered_[gather_offsets_[k + 1] - 1] of contributions_, which is set during a product.
  Vector<std::int64_t> gather_offsets_, gathered_;
  std::int64_t contribution_count_ = 0;  ///< per vector
  mutable Vector<T> contributions_;
  mutable Vector<Lanes<T>> buffers_;
  mutable std::vector<double> energies_;  ///< per block and vector
};

template <std::floating_point T>
template <class Vectors, class CellWork, class BlockWork>
void CellBlocks<T>::work_on(const Block& block, const Vectors& v, const Buffers& buffers, CellWork& cells,
                            BlockWork& after, std::int32_t number) const {
  const std::span<const std::int32_t> list = unknowns(block);
  const auto count = static_cast<std::int32_t>(list.size());
  for (int c = 0; c < v.count; ++c) {
    T* x_block = buffers.x + c * buffers.room;
    if constexpr (std::is_same_v<Vectors, OneVector>)
      pick(v.x, list.data(), count, x_block);
    else
      for (std::int32_t i = 0; i < count; ++i) x_block[i] = v.x[std::int64_t{list[i]} * v.stride + c];
    x_block[count] = 0;
    std::fill_n(buffers.y + c * buffers.room, count + 1, T(0));
  }
  Lanes<T>* x_cell = buffers.cell;
  Lanes<T>* y_cell = x_cell + dofs_;
  double* energies = energies_.data() + std::int64_t{number} * v.stride;
  std::fill_n(energies, v.stride, 0.0);
  for (std::int32_t batch = block.first_batch; batch < block.last_batch; ++batch)
    for (int c = 0; c < v.count; ++c) {
      const std::uint16_t* place = local_indices(batch);
      T* y_block = buffers.y + c * buffers.room;
      const T* y_values = reinterpret_cast<const T*>(y_cell);
      pick(buffers.x + c * buffers.room, place, dofs_ * lanes, reinterpret_cast<T*>(x_cell));
      cells(batch, x_cell, y_cell, y_cell + dofs_);
      Lanes<T> sum{};
      for (int a = 0; a < dofs_; ++a) sum += x_cell[a] * y_cell[a];
      double energy = energies[c];
      for (int l = 0; l < lanes; ++l) energy += static_cast<double>(sum[l]);
      energies[c] = energy;
      for (int i = 0; i < dofs_ * lanes; ++i) y_block[place[i]] += y_values[i];
    }
  for (int c = 0; c < v.count; ++c) {
    T* y_block = buffers.y + c * buffers.room;
    energies[c] += after(number, buffers.x + c * buffers.room, y_block);
    add(block, y_block, v, c);
  }
}

/// Adds a block's part of vector c to y.
template <std::floating_point T>
template <class Vectors>
void CellBlocks<T>::add(const Block& block, const T* y_block, const Vectors& v, int c) const {
  const std::span<const std::int32_t> list = unknowns(block);
  const auto at = [&](std::int32_t i) -> T& { return v.y[std::int64_t{list[i]} * v.stride + c]; };
  for (std::int32_t i = 0; i < block.private_count; ++i) at(i) = y_block[i];
  if (resolution_ == ConflictResolution::gather) {
    T* contributions = contributions_.data() + block.first_contribution * v.stride + c;
    for (std::int32_t i = block.private_count; i < block.unknown_count; ++i, contributions += v.stride)
      *contributions = y_block[i];
    return;
  }
  if (resolution_ == ConflictResolution::coloured) {
    for (std::int32_t i = block.private_count; i < block.unknown_count; ++i) at(i) += y_block[i];
    return;
  }
  for (std::int32_t i = block.private_count; i < block.unknown_count; ++i) {
    T& to = at(i);
#pragma omp atomic
    to += y_block[i];
  }
}

/// Buffers are kept from one product to the next.
template <std::floating_point T>
template <class Vectors, class CellWork, class BlockWork>
void CellBlocks<T>::product(const Vectors& v, double* energies, std::int64_t scratch_size, CellWork& cells,
                            BlockWork& after) const {
  const std::int64_t of_block = largest_block_ / lanes + 1;
  const std::int64_t of_share = 2 * v.count * of_block + 2 * dofs_ + scratch_size;
  if (buffers_.size() < most_shares() * of_share) buffers_ = Vector<Lanes<T>>(most_shares() * of_share);
  energies_.resize(std::max(energies_.size(), blocks_.size() * static_cast<std::size_t>(v.stride)));
  if (contributions_.size() < contribution_count_ * v.stride)
    contributions_ = Vector<T>(contribution_count_ * v.stride);
  const auto for_blocks = [&](std::int64_t count, const auto& number_of) {
    for_shares([&](int share, int shares) {
      Lanes<T>* buffer = buffers_.data() + share * of_share;
      const Buffers buffers{reinterpret_cast<T*>(buffer), reinterpret_cast<T*>(buffer + v.count * of_block),
                            of_block * lanes, buffer + 2 * v.count * of_block};
      for (std::int64_t i = count * share / shares; i < count * (share + 1) / shares; ++i) {
        const std::int32_t number = number_of(i);
        work_on(blocks_[number], v, buffers, cells, after, number);
      }
    });
  };
  const std::int64_t stride = v.stride;
  for_row_blocks(shared_.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) std::fill_n(v.y + shared_[i] * stride, stride, T(0));
  });
  if (resolution_ == ConflictResolution::coloured)
    for (int colour = 0; colour < colours(); ++colour)
      for_blocks(colour_offsets()[colour + 1] - colour_offsets()[colour],
                 [&](std::int64_t i) { return coloured_blocks()[colour_offsets()[colour] + i]; });
  else
    for_blocks(static_cast<std::int64_t>(blocks_.size()), [](std::int64_t i) { return static_cast<std::int32_t>(i); });
  if (resolution_ == ConflictResolution::gather)
    for_row_blocks(shared_.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        for (std::int64_t k = gather_offsets_[i]; k < gather_offsets_[i + 1]; ++k)
          for (int c = 0; c < v.count; ++c) v.y[shared_[i] * stride + c] += contributions_[gathered_[k] * stride + c];
    });
  if (energies == nullptr) return;
  std::fill_n(energies, stride, 0.0);
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    for (int c = 0; c < v.count; ++c) energies[c] += energies_[block * static_cast<std::size_t>(stride) + c];
}

extern template class CellBlocks<double>;
extern template class CellBlocks<float>;

}  // namespace femcg::operators

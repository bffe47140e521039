#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/backend/threads/simd.hpp"
#include "operators/backend/threads/thread_team.hpp"
#include "operators/backend/vector.hpp"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/lanes.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The host's way over patches of cells (CellPatches), y = sum_p Q_p' (sum_{c in p} P_c' K_c P_c) Q_p x.
///
/// The cells of a patch come in batches of `lanes` (SIMD over cells). A share of the threads copies a patch's part of x
/// to a buffer, works on its batches there, and hands its part of y on: unknowns of this patch only lie in one piece,
/// in the order of the patches (ordering), and are stored; what patches have for the interface are contributions, which
/// are gathered at the end in the order of the patches. Constrained dofs and empty lanes have one place behind the
/// unknowns, where x is zero.
///
/// Patches do not depend on the number of threads: neither do sums, to the last bit.
template <std::floating_point T>
class PatchBatches {
 public:
  static constexpr int lanes = static_cast<int>(mesh::register_bytes / sizeof(T));

  explicit PatchBatches(const BilinearForm& form);

  /// Cells a patch and batches of all patches, known from the form alone.
  static int cells_of_patch(const BilinearForm& form);
  static std::int64_t batches_of(const BilinearForm& form);

  std::int32_t batches() const { return first_batch_[patches_.patches.size()]; }
  std::int64_t patches() const { return patches_.patches.size(); }
  int dofs() const { return patches_.dofs; }
  const Vector<std::int32_t>& ordering() const { return patches_.unknown_at; }
  std::int64_t bytes() const;

  /// The cells of a batch, -1 in empty lanes.
  std::span<const std::int32_t> cells(std::int32_t batch) const {
    return {cells_.data() + std::int64_t{batch} * lanes, static_cast<std::size_t>(lanes)};
  }
  /// Where each cell is, as batch x lanes + lane.
  std::vector<std::int64_t> slots_of_cells(std::int32_t cell_count) const;
  std::int32_t patch_of(std::int32_t batch) const {
    const auto all = first_batch_.span();
    return static_cast<std::int32_t>(std::upper_bound(all.begin(), all.end(), batch) - all.begin()) - 1;
  }
  /// Places in the patch's buffer of the dofs of a batch, dofs x lanes.
  const std::uint16_t* local_indices(std::int32_t batch) const {
    return local_indices_.data() + std::int64_t{batch} * dofs() * lanes;
  }

  /// y = sum over cells, and x'y. cells(batch, x_e, y_e, scratch) writes y_e = K_e x_e (dofs x lanes), with a scratch
  /// of `scratch_size` that nobody else has meanwhile; after(patch, x, y) may add more to the patch's buffers.
  template <class CellWork, class PatchWork>
  void product(const T* x, T* y, double* energy, std::int64_t scratch_size, CellWork cells, PatchWork after) const {
    go_over(OneVector{x, y}, energy, scratch_size, cells, after);
  }
  /// The same for several vectors, a batch after the other for all of them: what is stored of its cells comes from
  /// memory once.
  template <class CellWork, class PatchWork>
  void product(const MultiVector<T>& x, MultiVector<T>& y, double* energies, std::int64_t scratch_size, CellWork cells,
               PatchWork after) const {
    go_over(SeveralVectors{x.data(), y.data(), x.count(), x.stride()}, energies, scratch_size, cells, after);
  }

  /// `v` defines what a pass over the patches reads and writes, for v.count vectors: v.begin(rows) before all, for the
  /// interface; load(c, first, count, x), for rows that are a patch's own, and value(c, row), for others; store(c,
  /// first, count, x, y, sums) and put(c, rows, y, sums) with what came out, each adding to v.sums sums. These are
  /// added up in a fixed order, unless `sums` is null.
  template <class Vectors, class CellWork, class PatchWork>
  void go_over(const Vectors& v, double* sums, std::int64_t scratch_size, CellWork& cells, PatchWork& after) const;

 private:
  /// x'y of rows in one piece.
  static double dot(const T* x, const T* y, std::int64_t count) { return dot_of_rows(x, y, 0, count); }

  /// One vector, known to the compiler.
  struct OneVector {
    const T* x;
    T* y;
    static constexpr int count = 1, sums = 1;

    void begin(std::span<const std::int32_t>) const {}
    void load(int, std::int64_t first, std::int64_t rows, T* to) const { std::copy_n(x + first, rows, to); }
    T value(int, std::int64_t row) const { return x[row]; }
    void store(int, std::int64_t first, std::int64_t rows, const T* from, const T* made, double* energy) const {
      std::copy_n(made, rows, y + first);
      *energy += dot(from, made, rows);
    }
    void put(int, std::span<const std::int32_t> rows, const T* made, double* energy) const {
      double sum = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        y[rows[i]] = made[i];
        sum += static_cast<double>(x[rows[i]]) * static_cast<double>(made[i]);
      }
      *energy += sum;
    }
  };
  /// Entry i of vector c is at i stride + c.
  struct SeveralVectors {
    const T* x;
    T* y;
    int count, sums;  ///< sums: as many as the stride

    void begin(std::span<const std::int32_t>) const {}
    void load(int c, std::int64_t first, std::int64_t rows, T* to) const {
      for (std::int64_t i = 0; i < rows; ++i) to[i] = value(c, first + i);
    }
    T value(int c, std::int64_t row) const { return x[row * sums + c]; }
    void store(int c, std::int64_t first, std::int64_t rows, const T* from, const T* made, double* energies) const {
      for (std::int64_t i = 0; i < rows; ++i) y[(first + i) * sums + c] = made[i];
      energies[c] += dot(from, made, rows);
    }
    void put(int c, std::span<const std::int32_t> rows, const T* made, double* energies) const {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t at = std::int64_t{rows[i]} * sums + c;
        y[at] = made[i];
        energies[c] += static_cast<double>(x[at]) * static_cast<double>(made[i]);
      }
    }
  };

  /// The buffers of a share: a patch's part of x and y, one vector after the other, and what a batch needs.
  struct Buffers {
    T *x, *y;
    std::int64_t room;  ///< from one vector to the next
    Lanes<T>* cell;
  };
  template <class Vectors, class CellWork, class PatchWork>
  void work_on(std::int32_t number, const Vectors& v, const Buffers& buffers, CellWork& cells, PatchWork& after,
               double* sums) const;
  template <class Vectors>
  void gather(const Vectors& v, double* sums) const;

  CellPatches patches_;
  Vector<std::int32_t> first_batch_;     ///< of each patch, and the number of all
  Vector<std::int32_t> cells_;           ///< batches x lanes
  Vector<std::uint16_t> local_indices_;  ///< batches x dofs x lanes
  mutable Vector<T> contributions_;      ///< during a product
  mutable Vector<Lanes<T>> buffers_;
  mutable std::vector<double> sums_;  ///< of the patches, then of blocks of the interface
};

template <std::floating_point T>
template <class Vectors, class CellWork, class PatchWork>
void PatchBatches<T>::work_on(std::int32_t number, const Vectors& v, const Buffers& buffers, CellWork& cells,
                              PatchWork& after, double* sums) const {
  const CellPatch& patch = patches_.patches[number];
  const std::span<const std::int32_t> shared = patches_.shared_of(patch);
  for (int c = 0; c < v.count; ++c) {
    T* x = buffers.x + c * buffers.room;
    v.load(c, patch.first_own, patch.private_count, x);
    for (std::size_t k = 0; k < shared.size(); ++k) x[patch.private_count + k] = v.value(c, shared[k]);
    x[patch.unknown_count] = 0;
    std::fill_n(buffers.y + c * buffers.room, patch.unknown_count + 1, T(0));
  }
  const int n = dofs();
  Lanes<T>* x_cell = buffers.cell;
  Lanes<T>* y_cell = x_cell + n;
  for (std::int32_t batch = first_batch_[number]; batch < first_batch_[number + 1]; ++batch)
    for (int c = 0; c < v.count; ++c) {
      gather_lanes<T>(buffers.x + c * buffers.room, local_indices(batch), n, x_cell);
      cells(batch, x_cell, y_cell, y_cell + n);
      scatter_add_lanes<T>(y_cell, local_indices(batch), n, buffers.y + c * buffers.room);
    }
  for (int c = 0; c < v.count; ++c) {
    const T* x = buffers.x + c * buffers.room;
    T* y = buffers.y + c * buffers.room;
    after(number, x, y);
    v.store(c, patch.first_own, patch.private_count, x, y, sums);
    for (std::int64_t k = 0; k < std::ssize(shared); ++k)
      contributions_[(patch.first_contribution + k) * v.count + c] = y[patch.private_count + k];
  }
}

/// Gathers the patches' contributions to the interface; sums over blocks of it.
template <std::floating_point T>
template <class Vectors>
void PatchBatches<T>::gather(const Vectors& v, double* sums) const {
  for_row_blocks(patches_.interface.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    const std::span<const std::int32_t> rows = patches_.interface.span().subspan(first, last - first);
    T made[rows_per_block];
    for (int c = 0; c < v.count; ++c) {
      std::uint32_t k = patches_.interface_offsets[first];
      for (std::int64_t r = first; r < last; ++r) {
        T sum = 0;
        for (const std::uint32_t end = patches_.interface_offsets[r + 1]; k < end; ++k)
          sum += contributions_[std::int64_t{patches_.contributions[k]} * v.count + c];
        made[r - first] = sum;
      }
      v.put(c, rows, made, sums + first / rows_per_block * v.sums);
    }
  });
}

/// The buffers of each share are kept from one product to the next.
template <std::floating_point T>
template <class Vectors, class CellWork, class PatchWork>
void PatchBatches<T>::go_over(const Vectors& v, double* sums, std::int64_t scratch_size, CellWork& cells,
                              PatchWork& after) const {
  const std::int64_t of_patch = patches_.most_unknowns / lanes + 1, count = patches();
  const std::int64_t of_share = 2 * v.count * of_patch + 2 * dofs() + scratch_size;
  if (buffers_.size() < most_shares() * of_share) buffers_ = Vector<Lanes<T>>(most_shares() * of_share);
  if (contributions_.size() < patches_.contributions.size() * v.count)
    contributions_ = Vector<T>(patches_.contributions.size() * v.count);
  const std::int64_t parts = count + (patches_.interface.size() + rows_per_block - 1) / rows_per_block;
  sums_.assign(static_cast<std::size_t>(parts * v.sums), 0.0);
  v.begin(patches_.interface.span());
  for_shares([&](int share, int shares) {
    Lanes<T>* buffer = buffers_.data() + share * of_share;
    const Buffers buffers{reinterpret_cast<T*>(buffer), reinterpret_cast<T*>(buffer + v.count * of_patch),
                          of_patch * lanes, buffer + 2 * v.count * of_patch};
    for (std::int64_t number = count * share / shares; number < count * (share + 1) / shares; ++number)
      work_on(static_cast<std::int32_t>(number), v, buffers, cells, after, sums_.data() + number * v.sums);
  });
  gather(v, sums_.data() + count * v.sums);
  if (sums == nullptr) return;
  std::fill_n(sums, v.sums, 0.0);
  for (std::int64_t part = 0; part < parts; ++part)
    for (int s = 0; s < v.sums; ++s) sums[s] += sums_[static_cast<std::size_t>(part * v.sums + s)];
}

extern template class PatchBatches<double>;
extern template class PatchBatches<float>;

}  // namespace femcg::operators

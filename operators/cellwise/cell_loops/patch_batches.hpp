#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/threads/simd.hpp"
#include "operators/backend/vector.hpp"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/cell_loops/fused_cg.hpp"
#include "operators/cellwise/cell_loops/lanes.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The sum over patches of cells (CellPatches) of the host, y = sum_p Q_p' (sum_{c in p} P_c' K_c P_c) Q_p x.
///
/// The cells of a patch come in batches of `lanes` (SIMD over cells). A thread copies a patch's part of x to a buffer,
/// processes its batches there, and writes its part of y: private unknowns are contiguous, in the order of the patches
/// (ordering), and are stored; contributions to the interface are gathered at the end in the order of the patches.
/// Constrained dofs and empty lanes have one local index behind the unknowns, where x is zero.
///
/// Patches, and hence sums to the last bit, do not depend on the number of threads.
template <std::floating_point T>
class PatchBatches {
 public:
  static constexpr int lanes = static_cast<int>(mesh::register_bytes / sizeof(T));

  explicit PatchBatches(const BilinearForm& form);

  /// Cells per patch, and batches of all patches, known from the form alone.
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
  /// Slot of each cell: batch * lanes + lane.
  std::vector<std::int64_t> slots_of_cells(std::int32_t cell_count) const;
  std::int32_t patch_of(std::int32_t batch) const {
    const auto all = first_batch_.span();
    return static_cast<std::int32_t>(std::upper_bound(all.begin(), all.end(), batch) - all.begin()) - 1;
  }
  /// Indices in the patch's buffer of the dofs of a batch, [dofs][lanes].
  const std::uint16_t* local_indices(std::int32_t batch) const {
    return local_indices_.data() + std::int64_t{batch} * dofs() * lanes;
  }

  /// A patch's part of x and y, vector after vector, and scratch for a batch.
  struct Buffers {
    int count;  ///< number of vectors
    T *x, *y;
    std::int64_t room;  ///< stride between vectors
    Lanes<T>* cell;
  };
  /// Adds the products of a patch to its part of y. A std::function, called per patch, so that the sweep is compiled
  /// once for all kernels.
  using PatchWork = std::function<void(std::int32_t patch, const Buffers& buffers)>;

  /// Adds the products of a patch's cells: cells(batch, x_e, y_e, scratch) writes y_e = K_e x_e, [dofs][lanes], with a
  /// scratch array of the sweep's `scratch_size` for its thread alone. With several vectors each batch is processed for
  /// all of them one after the other: its stored data come from memory once.
  template <class CellWork>
  void add_cells(std::int32_t patch, const Buffers& buffers, const CellWork& cells) const {
    const int n = dofs();
    Lanes<T>* x_cell = buffers.cell;
    Lanes<T>* y_cell = x_cell + n;
    for (std::int32_t batch = first_batch_[patch]; batch < first_batch_[patch + 1]; ++batch)
      for (int c = 0; c < buffers.count; ++c) {
        gather_lanes<T>(buffers.x + c * buffers.room, local_indices(batch), n, x_cell);
        cells(batch, x_cell, y_cell, y_cell + n);
        scatter_add_lanes<T>(y_cell, local_indices(batch), n, buffers.y + c * buffers.room);
      }
  }

  /// Computes y from x, patch by patch with `work`, and x'y if `energy` is not null.
  void product(const T* x, T* y, double* energy, std::int64_t scratch_size, const PatchWork& work) const;
  void product(const MultiVector<T>& x, MultiVector<T>& y, double* energies, std::int64_t scratch_size,
               const PatchWork& work) const;
  /// The product fused with the vector updates of a CG iteration.
  FusedSums product(const FusedStep<T>& of, std::int64_t scratch_size, const PatchWork& work) const;

 private:
  template <class Vectors>
  void go_over(const Vectors& v, double* sums, std::int64_t scratch_size, const PatchWork& work) const;
  template <class Vectors>
  void work_on(std::int32_t number, const Vectors& v, const Buffers& buffers, const PatchWork& work,
               double* sums) const;
  template <class Vectors>
  void gather(const Vectors& v, double* sums) const;

  CellPatches patches_;
  Vector<std::int32_t> first_batch_;     ///< of each patch, and the number of all batches
  Vector<std::int32_t> cells_;           ///< [batches][lanes]
  Vector<std::uint16_t> local_indices_;  ///< [batches][dofs][lanes]
  mutable Vector<T> contributions_;      ///< during a product
  mutable Vector<Lanes<T>> buffers_;
  mutable std::vector<double> sums_;  ///< per patch, then per block of the interface
};

extern template class PatchBatches<double>;
extern template class PatchBatches<float>;

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"
#include "operators/cellwise/cell_loops/colouring.hpp"
#include "operators/forms/cell_layout.hpp"

namespace femcg::operators {

struct BilinearForm;

struct PatchOptions {
  static constexpr int most_cells = 2048;

  int cells = 128;      ///< at most per patch, 1 to most_cells
  int unknowns = 4096;  ///< at most per patch, at least the dofs of a cell, at most 65535
  CellLayout layout = CellLayout::interleaved;
  bool coloured = false;  ///< true to colour the patches
  /// Flags of the cells that come first in their patch, in waves of `wave` slots as far as they fill them; empty for
  /// none.
  std::span<const char> first = {};
  int wave = 1;
};

/// Cells per patch for PatchOptions: a multiple of `least` up to `most`, so many that all multiprocessors of a GPU have
/// work. With `persistent`, if possible, so few patches that each has a multiprocessor of its own, so that a persistent
/// kernel waits for few blocks.
int cells_per_patch(const BilinearForm& form, int least, int most, bool persistent);

/// The cells of one thread block, and their distinct unknowns. An unknown is owned by the first patch that has it.
struct CellPatch {
  std::int64_t first_slot;          ///< of its cells
  std::int64_t first_contribution;  ///< index of its contribution to its first shared unknown
  std::int32_t first_own;           ///< position of its first owned unknown; the others follow
  std::uint16_t cells;              ///< in its first slots; the others are empty
  std::uint16_t slots;              ///< a multiple of 32 in the interleaved layout
  std::uint16_t private_count;      ///< unknowns in no other patch
  std::uint16_t own_count;          ///< owned: private ones, and shared ones whose first patch this is
  std::uint16_t unknown_count;      ///< private, then other owned, then the rest by their positions
};

/// Partition of the cells of a mesh over a GPU's thread blocks, y = sum_p Q_p' (sum_{c in p} P_c' K_c P_c) Q_p x.
///
/// Patches are pieces of the Hilbert curve through the cells' centres, for any order of the cells in the mesh; for a
/// mesh that was refined after its cells had been put in that order, pieces of its own order, which leave 10 to 25%
/// fewer shared unknowns. A thread block copies its patch's part of x to shared memory (Q_p), adds up the cells there
/// (P_c), colour by colour, and writes its part of y: private unknowns are stored, shared ones, the interface, are
/// added (ConflictResolution).
///
/// Unknowns are ordered by the patches that own them, so that a thread block reads and writes most of its part of a
/// vector contiguously: indices of unknowns are positions in that order. Owned unknowns are in the order in which
/// adjacent threads use them, which avoids bank conflicts in shared memory.
///
/// Inside a patch the cells are sorted by colour, where cells of one colour share no unknown, and then as in the mesh;
/// if some come first (PatchOptions::first), these and the others separately. Each cell has a slot; data of cells are
/// stored in the order of the slots. The local index of a dof is that of its unknown in the patch; constrained dofs and
/// empty slots have the local index `unknown_count`, one behind the last, where x is zero and y is discarded.
struct CellPatches {
  static constexpr int group = slots_per_group;

  int dofs = 0;  ///< per cell
  std::int32_t unknown_count = 0;
  CellLayout layout = CellLayout::interleaved;
  Vector<CellPatch> patches;
  Vector<std::int32_t> unknown_at;      ///< the form's unknown at each position
  Vector<std::int32_t> cell_of_slot;    ///< -1 if empty
  Vector<std::uint8_t> colours;         ///< of the slots, ascending in a patch, or in its first cells and in the others
  Vector<std::uint16_t> local_indices;  ///< of the dofs of the slots
  Vector<std::int32_t> shared;  ///< unknowns shared by patches, patch after patch, in the order of contributions
  /// Unknowns of several patches or of none, ascending. The contributions to interface[r] have the indices
  /// contributions[interface_offsets[r]] to contributions[interface_offsets[r + 1] - 1], in the order of the patches.
  Vector<std::int32_t> interface;
  Vector<std::uint32_t> interface_offsets;
  Vector<std::uint32_t> contributions;
  Colouring colouring;  ///< of the patches; without colours unless requested
  /// With colours, the patches of lower colours that share unknowns with the k-th patch of colouring.parts, and so come
  /// before it: earlier[earlier_offsets[k]] to earlier[earlier_offsets[k + 1] - 1].
  Vector<std::uint32_t> earlier_offsets;
  Vector<std::int32_t> earlier;
  std::int32_t most_unknowns = 0;  ///< of any patch

  std::int64_t slots() const { return cell_of_slot.size(); }
  /// Most cells of a patch.
  int most_cells() const;
  /// Local indices stored per slot: the dofs, rounded up to an even number in the interleaved layout.
  int places_per_slot() const { return layout == CellLayout::interleaved ? (dofs + 1) / 2 * 2 : dofs; }
  /// Position of the local index of a slot's dof.
  std::int64_t place_index(std::int64_t slot, int dof) const {
    if (layout == CellLayout::cell_major) return slot * dofs + dof;
    return slot / group * group * places_per_slot() + std::int64_t{dof / 2} * 2 * group + slot % group * 2 + dof % 2;
  }
  /// The unknowns that the patch shares with other patches.
  std::span<const std::int32_t> shared_of(const CellPatch& patch) const {
    return {shared.data() + patch.first_contribution,
            static_cast<std::size_t>(patch.unknown_count - patch.private_count)};
  }
  std::int32_t unknown_of(const CellPatch& patch, int place) const {
    return place < patch.private_count ? patch.first_own + place : shared_of(patch)[place - patch.private_count];
  }
};

/// Makes the patches in parallel; the result does not depend on the number of threads. Throws std::invalid_argument if
/// options are out of range, std::length_error for 2^32 contributions or more.
CellPatches make_cell_patches(const BilinearForm& form, const PatchOptions& options);

}  // namespace femcg::operators

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

  int cells = 128;      ///< the most of a patch, 1 to most_cells
  int unknowns = 4096;  ///< the most of a patch, at least the dofs of a cell, at most 65535
  CellLayout layout = CellLayout::interleaved;
  bool coloured = false;  ///< whether patches are coloured
  /// Flags of the cells that come first in their patch, in waves of so many slots as far as they fill them; empty:
  /// none.
  std::span<const char> first = {};
  int wave = 1;
};

/// Cells a patch for PatchOptions: a multiple of `least` up to `most`, so many that a GPU has work everywhere. With
/// `persistent` there are, if they can be, so few patches that each has a multiprocessor for itself: a persistent
/// kernel then waits for few.
int cells_per_patch(const BilinearForm& form, int least, int most, bool persistent);

/// Some cells that one thread block works on, and the distinct unknowns of these cells. An unknown is the first patch's
/// own that has it.
struct CellPatch {
  std::int64_t first_slot;          ///< of its cells
  std::int64_t first_contribution;  ///< number of what it has for the first unknown that it shares
  std::int32_t first_own;           ///< position of its first own unknown; the other own ones follow
  std::uint16_t cells;              ///< in the first of its slots; the others are empty
  std::uint16_t slots;              ///< a multiple of 32 in the interleaved layout
  std::uint16_t private_count;      ///< unknowns that no other patch has
  std::uint16_t own_count;          ///< its own: those, and of the shared ones those of which it is the first patch
  std::uint16_t unknown_count;      ///< private ones first, then the other own ones, then the rest by their positions
};

/// How a GPU's thread blocks go over the cells of a mesh, y = sum_p Q_p' (sum_{c in p} P_c' K_c P_c) Q_p x.
///
/// Patches are pieces of the Hilbert curve through the cells' centres, whatever the order of the cells in the mesh; of
/// a mesh that was refined after its cells had been put in that order, pieces of its own order, which leave 10 to 25%
/// fewer shared unknowns. A thread block copies its patch's part of x to shared memory (Q_p), adds up the cells there
/// (P_c), colour by colour, and hands its part of y on: unknowns of this patch only are stored, shared ones, the
/// interface, are added (ConflictResolution).
///
/// Unknowns are put in the order of the patches, own ones of each together, so that a thread block reads and writes
/// most of its part of a vector in one piece: wherever there is a number of an unknown, it is its position in that
/// order. Own ones are in the order in which neighbouring threads meet them, which spreads what a warp reads at once
/// over the banks of shared memory.
///
/// Inside a patch the cells are sorted by their colour, those of one colour having no unknown in common, and then as in
/// the mesh; those that come first (PatchOptions::first) among themselves, and the others. Each has a slot; what
/// belongs to cells is stored in the order of the slots. A dof's place is where its unknown stands among the patch's;
/// constrained dofs and empty slots have the place `unknown_count`, one behind them, where x is zero and of which
/// nothing becomes of y.
struct CellPatches {
  static constexpr int group = slots_per_group;

  int dofs = 0;  ///< a cell
  std::int32_t unknown_count = 0;
  CellLayout layout = CellLayout::interleaved;
  Vector<CellPatch> patches;
  Vector<std::int32_t> unknown_at;    ///< the form's unknown at each position
  Vector<std::int32_t> cell_of_slot;  ///< -1 where it is empty
  Vector<std::uint8_t> colours;  ///< of the slots, ascending in a patch, or those of its first cells and of the others
  Vector<std::uint16_t> local_indices;  ///< of the dofs of the slots
  Vector<std::int32_t> shared;  ///< unknowns that patches share, one patch after the other, as contributions are
  /// Unknowns of several patches, and of none, ascending. What the patches have for interface[r] are the contributions
  /// numbered contributions[interface_offsets[r]] to contributions[interface_offsets[r + 1] - 1], in the order of the
  /// patches.
  Vector<std::int32_t> interface;
  Vector<std::uint32_t> interface_offsets;
  Vector<std::uint32_t> contributions;
  Colouring colouring;  ///< of the patches; without colours unless it was asked for
  /// With colours, the patches of lower colours that share unknowns with the k-th of colouring.parts, and so come
  /// before it: earlier[earlier_offsets[k]] to earlier[earlier_offsets[k + 1] - 1].
  Vector<std::uint32_t> earlier_offsets;
  Vector<std::int32_t> earlier;
  std::int32_t most_unknowns = 0;  ///< of a patch

  std::int64_t slots() const { return cell_of_slot.size(); }
  /// The most cells that a patch has.
  int most_cells() const;
  /// Numbers that the layout takes for a slot: the dofs, in the interleaved one to an even number.
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

/// In parallel; the result does not depend on the number of threads. Throws std::invalid_argument where the options are
/// out of range, std::length_error where there are 2^32 contributions or more.
CellPatches make_cell_patches(const BilinearForm& form, const PatchOptions& options);

}  // namespace femcg::operators

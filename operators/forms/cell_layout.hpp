#pragma once

namespace femcg::operators {

/// Slots of cells that lie interleaved.
constexpr int slots_per_group = 32;

/// Memory layout of the data of a patch's cells.
enum class CellLayout {
  interleaved,  ///< for a thread per cell: groups of 32 slots, in each pairs of dofs x 32 slots x the two of a pair
  cell_major    ///< for several threads per cell: slots x dofs
};

}  // namespace femcg::operators

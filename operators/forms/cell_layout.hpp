#pragma once

namespace femcg::operators {

/// Slots of a group of interleaved cells.
constexpr int slots_per_group = 32;

/// Memory layout of the data of a patch's cells.
enum class CellLayout {
  interleaved,  ///< for one thread per cell: groups of 32 slots, each [pairs of dofs][32][2]
  cell_major    ///< for several threads per cell: [slots][dofs]
};

}  // namespace femcg::operators

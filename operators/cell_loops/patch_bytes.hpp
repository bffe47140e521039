#pragma once

#include <cstdint>

#include "operators/cell_loops/cell_patches.hpp"
#include "operators/cell_loops/conflict_resolution.hpp"

namespace femcg::operators {

/// What a product over patches of cells takes of a GPU, estimated before there are patches.
struct PatchBytes {
  std::int64_t slots;      ///< of the cells
  std::int64_t lists;      ///< the places of their dofs
  std::int64_t interface;  ///< at most, for unknowns that patches share
  std::int64_t resident;   ///< at most, of a loop inside one kernel: what patches tell each other, and for what
  std::int64_t geometry;   ///< for a moment: the mesh and the diffusion, from which cells' numbers are made, at most
};
PatchBytes bytes_of_patches(const BilinearForm& form, PlaceLayout layout, ConflictResolution resolution,
                            std::int64_t value_bytes);

}  // namespace femcg::operators

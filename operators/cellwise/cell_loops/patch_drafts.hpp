#pragma once

#include <cstdint>
#include <vector>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/forms/bilinear_form.hpp"

// First step of make_cell_patches: patches independent of each other.

namespace femcg::operators {

/// A patch before its shared unknowns are known.
struct PatchDraft {
  /// Ownership of an unknown by a patch: owned and in no other patch, owned and shared, or owned by another patch.
  enum class Tie : std::uint8_t { alone, shared, others };

  std::vector<std::int32_t> cells;     ///< those that come first, then the others, each sorted by colour
  std::vector<std::uint8_t> colours;   ///< of the cells
  std::vector<std::int32_t> unknowns;  ///< distinct, in the order of their use by threads
  std::vector<std::uint16_t> ranks;    ///< [cells][dofs]: index in `unknowns`; behind the last for none
  std::vector<Tie> ties;               ///< of the unknowns, once owners are known
};

/// Drafts of patches along the Hilbert curve through the cells (mesh::Mesh::follows_curve), within the bounds of cells
/// and unknowns. In parallel; the same for any number of threads.
std::vector<PatchDraft> draft_patches(const BilinearForm& form, const PatchOptions& options);

}  // namespace femcg::operators

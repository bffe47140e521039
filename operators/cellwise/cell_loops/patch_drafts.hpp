#pragma once

#include <cstdint>
#include <vector>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/forms/bilinear_form.hpp"

// What make_cell_patches begins with: patches of which none knows of the others.

namespace femcg::operators {

/// A patch on its own, before the unknowns that it shares are known.
struct PatchDraft {
  /// Ownership of an unknown by a patch: owned and in no other patch, owned and shared, or owned by another patch.
  enum class Tie : std::uint8_t { alone, shared, others };

  std::vector<std::int32_t> cells;     ///< those that come first, and the others, sorted by colour
  std::vector<std::uint8_t> colours;   ///< of the cells
  std::vector<std::int32_t> unknowns;  ///< distinct, as its threads meet them
  std::vector<std::uint16_t> ranks;    ///< cells x dofs: where a dof's unknown stands among them; behind all if none
  std::vector<Tie> ties;               ///< of the unknowns, once the owners are known
};

/// The patches along the Hilbert curve through the cells (mesh::Mesh::follows_curve), each with no more cells and
/// unknowns than it may have. Made in parallel; the same for any number of threads.
std::vector<PatchDraft> draft_patches(const BilinearForm& form, const PatchOptions& options);

}  // namespace femcg::operators

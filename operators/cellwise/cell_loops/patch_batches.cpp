#include "operators/cellwise/cell_loops/patch_batches.hpp"

#include <limits>

namespace femcg::operators {

/// Many patches for many threads, but not so small that most of their unknowns are shared, and few enough unknowns that
/// the buffers of x and y stay in a core's cache.
template <std::floating_point T>
int PatchBatches<T>::cells_of_patch(const BilinearForm& form) {
  constexpr std::int64_t buffer_bytes = 48 << 10, least_patches = 128;
  const std::int64_t cells = std::max(form.cells(), 1);
  const std::int64_t for_cache = buffer_bytes / std::int64_t{sizeof(T)} * cells / std::max(form.unknowns, 1);
  const std::int64_t most = std::numeric_limits<std::uint16_t>::max() / form.dofs_per_cell() / lanes * lanes;
  const std::int64_t wanted =
      std::min({for_cache, cells / least_patches, std::int64_t{PatchOptions::most_cells}, most});
  return static_cast<int>(std::max<std::int64_t>(wanted / lanes, 1) * lanes);
}

template <std::floating_point T>
std::int64_t PatchBatches<T>::batches_of(const BilinearForm& form) {
  const std::int64_t cells = form.cells(), of_patch = cells_of_patch(form), rest = cells % of_patch;
  return cells / of_patch * (of_patch / lanes) + (rest + lanes - 1) / lanes;
}

template <std::floating_point T>
PatchBatches<T>::PatchBatches(const BilinearForm& form)
    : patches_(make_cell_patches(form, {.cells = cells_of_patch(form),
                                        .unknowns = std::numeric_limits<std::uint16_t>::max(),
                                        .layout = CellLayout::cell_major})) {
  const std::int64_t count = patches_.patches.size();
  first_batch_ = Vector<std::int32_t>(count + 1);
  first_batch_[0] = 0;
  for (std::int64_t p = 0; p < count; ++p)
    first_batch_[p + 1] = first_batch_[p] + (patches_.patches[p].slots + lanes - 1) / lanes;
  cells_ = Vector<std::int32_t>(std::int64_t{batches()} * lanes);
  local_indices_ = Vector<std::uint16_t>(cells_.size() * dofs());
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < count; ++p) {
    const CellPatch& patch = patches_.patches[p];
    for (std::int32_t batch = first_batch_[p]; batch < first_batch_[p + 1]; ++batch)
      for (int l = 0; l < lanes; ++l) {
        const std::int64_t slot = std::int64_t{batch - first_batch_[p]} * lanes + l, at = patch.first_slot + slot;
        const bool filled = slot < patch.slots;
        cells_[std::int64_t{batch} * lanes + l] = filled ? patches_.cell_of_slot[at] : -1;
        for (int a = 0; a < dofs(); ++a)
          local_indices_[(std::int64_t{batch} * dofs() + a) * lanes + l] =
              filled ? patches_.local_indices[patches_.place_index(at, a)] : patch.unknown_count;
      }
  }
  patches_.cell_of_slot = {};
  patches_.colours = {};
  patches_.local_indices = {};
}

template <std::floating_point T>
std::vector<std::int64_t> PatchBatches<T>::slots_of_cells(std::int32_t cell_count) const {
  std::vector<std::int64_t> slots(static_cast<std::size_t>(cell_count));
#pragma omp parallel for schedule(static)
  for (std::int64_t slot = 0; slot < cells_.size(); ++slot)
    if (cells_[slot] >= 0) slots[static_cast<std::size_t>(cells_[slot])] = slot;
  return slots;
}

template <std::floating_point T>
std::int64_t PatchBatches<T>::bytes() const {
  return patches_.patches.bytes() + patches_.shared.bytes() + patches_.interface.bytes() +
         patches_.interface_offsets.bytes() + patches_.contributions.bytes() + first_batch_.bytes() +
         local_indices_.bytes() + patches_.contributions.size() * static_cast<std::int64_t>(sizeof(T));
}

template class PatchBatches<double>;
template class PatchBatches<float>;

}  // namespace femcg::operators

#include "operators/cellwise/lma/lma_inputs.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "mesh/base/first_failure.hpp"
#include "operators/cellwise/cell_loops/patch_option.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/congruence_classes.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

/// Options of the patches: many enough cells that little of a patch is interface, few enough that its unknowns leave
/// shared memory for other blocks, and that all multiprocessors have work. `once`: matrices come from the caches.
PatchOptions patch_options(const BilinearForm& form, ConflictResolution resolution, bool once) {
  const int n = form.dofs_per_cell();
  PatchOptions options;
  options.layout = lma_cell_threads(n) == CellThreads::one ? CellLayout::interleaved : CellLayout::cell_major;
  options.coloured = resolution == ConflictResolution::coloured;
  int most = n <= 4 ? 512 : n <= 10 ? 256 : n <= 27 ? 128 : n <= 35 ? 64 : n <= 64 ? 32 : 16;
  if (once && n <= 16) most = n <= 4 ? 1536 : n <= 10 ? 512 : 384;
  const int least = options.layout == CellLayout::interleaved ? CellPatches::group : 4;
  options.cells = cells_per_patch(form, least, most, resolution == ConflictResolution::gather);
  return options;
}

/// Stores one matrix per slot; lists those with Robin terms.
void store_all(LmaInputs& inputs, std::span<const std::int32_t> robin) {
  inputs.cell_of_matrix = copied(inputs.patches.cell_of_slot, Device::host);
  inputs.robin_places = Vector<std::int64_t>(static_cast<std::int64_t>(robin.size()));
  if (robin.empty()) return;
  for (std::int64_t slot = 0; slot < inputs.patches.slots(); ++slot) {
    const auto found = std::lower_bound(robin.begin(), robin.end(), inputs.patches.cell_of_slot[slot]);
    if (found != robin.end() && *found == inputs.patches.cell_of_slot[slot])
      inputs.robin_places[found - robin.begin()] = slot;
  }
}

/// The congruence classes if matrices are stored per class, else nothing.
std::optional<CongruenceClasses> classes_of_cells(const LmaInputs& inputs, const BilinearForm& form, std::size_t robin,
                                                  Dedup dedup) {
  const bool constant = inputs.factors.diffusion_per_point == 0;
  if (dedup == Dedup::off || !constant) return std::nullopt;
  const std::int64_t most = dedup == Dedup::on ? std::numeric_limits<std::int32_t>::max() : most_classes(form.cells());
  const Vector<double> diffusion = copied(inputs.factors.diffusion, Device::host);
  return find_congruence_classes(form, diffusion.span(), most - static_cast<std::int64_t>(robin));
}

/// Stores one matrix per class, followed by one for each cell with Robin terms.
void store_once(LmaInputs& inputs, CongruenceClasses cells, std::span<const std::int32_t> robin) {
  const std::size_t classes = cells.representatives.size();
  cells.representatives.insert(cells.representatives.end(), robin.begin(), robin.end());
  inputs.robin_places = Vector<std::int64_t>(static_cast<std::int64_t>(robin.size()));
  for (std::size_t k = 0; k < robin.size(); ++k) {
    inputs.robin_places[static_cast<std::int64_t>(k)] = static_cast<std::int64_t>(classes + k);
    cells.class_of_cell[robin[k]] = static_cast<std::int32_t>(classes + k);
  }
  inputs.cell_of_matrix = Vector<std::int32_t>(static_cast<std::int64_t>(cells.representatives.size()));
  std::copy(cells.representatives.begin(), cells.representatives.end(), inputs.cell_of_matrix.data());
  inputs.matrix_of_slot = Vector<std::int32_t>(inputs.patches.slots());
  for (std::int64_t slot = 0; slot < inputs.patches.slots(); ++slot) {
    const std::int32_t cell = inputs.patches.cell_of_slot[slot];
    inputs.matrix_of_slot[slot] = cell >= 0 ? cells.class_of_cell[cell] : 0;
  }
}

}  // namespace

LmaChoice chosen_lma(const BilinearForm& form, Device device, std::string_view operator_name, const Options& given) {
  const LmaChoice choice{asked_dedup(operator_name, given, device), asked_patch(operator_name, given, device)};
  if (choice.dedup != Dedup::on) return choice;
  if (!is_constant_in_cells(form))
    throw std::invalid_argument("option 'dedup' of lma can be on only where the diffusion is constant in every cell");
  return choice;
}

LmaInputs lma_inputs(const BilinearForm& form, ConflictResolution resolution, const LmaChoice& choice) {
  LmaInputs inputs;
  inputs.factors = factor_inputs(form, Device::cuda);
  inputs.gradients = basis_gradients(form, Device::cuda);
  RobinMatrices robin = robin_matrices(form);
  std::optional<CongruenceClasses> classes = classes_of_cells(inputs, form, robin.cells.size(), choice.dedup);
  PatchOptions options = patch_options(form, resolution, classes.has_value());
  if (choice.patch > 0) options.cells = choice.patch;
  inputs.patches = make_cell_patches(form, options);
  if (classes)
    store_once(inputs, std::move(*classes), robin.cells);
  else
    store_all(inputs, robin.cells);
  inputs.robin_matrices = std::move(robin.values);
  return inputs;
}

}  // namespace femcg::operators

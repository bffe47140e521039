// On the host. Stored: the lower triangle of each K_c, interleaved over the cells of a batch (entry by entry, a cache
// line of lanes each), and 16-bit local indices of the cells' unknowns in their block. A product moves n (n + 1) / 2
// words and 2 n bytes per cell of n dofs, and x and y once.

#include "operators/cellwise/lma/lma.hpp"

#include <array>

#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/cellwise/cell_loops/cell_blocks.hpp"
#include "operators/cellwise/cell_loops/patch_bytes.hpp"
#include "operators/cellwise/cell_loops/patch_option.hpp"
#include "operators/cellwise/lma/lma_inputs.hpp"
#include "operators/forms/check/form_diagonal.hpp"
#include "operators/forms/congruence_classes.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T>
class Lma final : public Operator<T> {
 public:
  Lma(const BilinearForm& form, const ElementMatrices& matrices, ConflictResolution resolution)
      : Operator<T>(form.unknowns, Device::host),
        form_(&form),
        blocks_(form, resolution),
        values_(blocks_.batches() * matrices.packed_size()) {
    constexpr int lanes = CellBlocks<T>::lanes;
    const std::int64_t packed = matrices.packed_size();
#pragma omp parallel for schedule(static)
    for (std::int32_t batch = 0; batch < blocks_.batches(); ++batch)
      for (int l = 0; l < lanes; ++l) {
        const std::int32_t cell = batch * lanes + l;
        for (std::int64_t entry = 0; entry < packed; ++entry)
          values_[batch * packed + entry][l] = cell < form.cells() ? static_cast<T>(matrices.cell(cell)[entry]) : T(0);
      }
  }

  void diagonal(Vector<T>& d) const override {
    const Vector<double> exact = diagonal_of_form(*form_);
    for_each_row(exact.size(), [&](std::int64_t i) { d[i] = static_cast<T>(exact[i]); });
  }

  Footprint footprint() const override {
    Footprint footprint;
    footprint.stored_bytes = values_.bytes() + blocks_.bytes();
    footprint.moved_bytes =
        footprint.stored_bytes + 2 * std::int64_t{this->size()} * static_cast<std::int64_t>(sizeof(T));
    // Effective bytes: every cell reads its part of x, and reads and writes its part of y.
    const std::int64_t cell_dofs = std::int64_t{blocks_.batches()} * CellBlocks<T>::lanes * blocks_.dofs();
    footprint.effective_bytes = footprint.stored_bytes + 3 * cell_dofs * static_cast<std::int64_t>(sizeof(T));
    footprint.flops = 2 * cell_dofs * blocks_.dofs();
    return footprint;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    blocks_.product(x.data(), y.data(), energy != nullptr ? energy->data() : nullptr, 0, cell_products(), nothing_more);
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    blocks_.product(x, y, energies, 0, cell_products(), nothing_more);
  }
  /// y_e = K_e x_e of a batch.
  auto cell_products() const {
    const int n = blocks_.dofs();
    const std::int64_t packed = std::int64_t{n} * (n + 1) / 2;
    const Lanes<T>* values = values_.data();
    return [n, packed, values](std::int32_t batch, const Lanes<T>* from, Lanes<T>* to, Lanes<T>*) {
      const Lanes<T>* k = values + batch * packed;
      // Row i of the lower triangle contributes to y_i and, mirrored, to y_j with j < i.
      for (int i = 0; i < n; ++i) {
        const Lanes<T> x_i = from[i];
        Lanes<T> sum{};
        for (int j = 0; j < i; ++j, ++k) {
          sum += *k * from[j];
          to[j] += *k * x_i;
        }
        to[i] = sum + *k++ * x_i;
      }
    };
  }
  static double nothing_more(std::int32_t, const T*, T*) { return 0.0; }

  const BilinearForm* form_;
  CellBlocks<T> blocks_;
  Vector<Lanes<T>> values_;  ///< [batches][packed entries]
};

constexpr std::array options{dedup_option, patch_option};

/// Upper bound of the bytes of a gather: a value and an index per contribution, and an offset per unknown, with all
/// unknowns shared by the blocks that meet at an edge.
template <std::floating_point T>
std::int64_t most_bytes_of_gather(const BilinearForm& form) {
  constexpr std::int64_t position = sizeof(std::int64_t), word = sizeof(T);
  const std::int64_t blocks = form.space->mesh().dimension() == 2 ? 2 : 4;
  return form.unknowns * (position + blocks * (position + word));
}

template <std::floating_point T>
StorageEstimate estimate_on_host(const BilinearForm& form, ConflictResolution resolution) {
  const std::int64_t n = form.dofs_per_cell();
  StorageEstimate estimate{.arrays = arrays_of_cells<T>(form, "element matrices", n * (n + 1) / 2)};
  estimate.product = footprint_of_cells<T>(form, padded_cells<T>(form), estimate.stored(), n * n);
  if (resolution != ConflictResolution::gather) return estimate;
  estimate.slack = most_bytes_of_gather<T>(form);
  estimate.arrays.push_back({"gathered contributions", form.unknowns, estimate.slack});
  // On large meshes about a quarter of the bound in two dimensions, and half in three.
  const std::int64_t gathered = estimate.slack / (form.space->mesh().dimension() == 2 ? 4 : 2);
  const std::int64_t read = estimate.stored() - estimate.slack + gathered;
  estimate.product = footprint_of_cells<T>(form, padded_cells<T>(form), read, n * n);
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate_on_gpu(const BilinearForm& form, ConflictResolution resolution, Dedup dedup) {
  constexpr std::int64_t number = sizeof(std::int32_t), run_bytes = 16;
  const std::int64_t n = form.dofs_per_cell(), packed_bytes = n * (n + 1) / 2 * static_cast<std::int64_t>(sizeof(T));
  const bool in_runs = lma_cell_threads(form.dofs_per_cell()) == CellThreads::one;
  const PatchBytes patches =
      bytes_of_patches(form, in_runs ? CellLayout::interleaved : CellLayout::cell_major, resolution, sizeof(T));
  const std::int64_t matrices = in_runs ? patches.slots * ((packed_bytes + run_bytes - 1) / run_bytes * run_bytes)
                                        : patches.slots * packed_bytes + run_bytes;
  const bool perhaps_once = dedup != Dedup::off,
             once = perhaps_once && has_congruent_cells(form, most_classes(form.cells()));
  StorageEstimate estimate;
  estimate.arrays = {{"element matrices", patches.slots, matrices},
                     {"places of dofs", patches.slots, patches.lists},
                     {"interface of patches", form.unknowns, patches.interface}};
  if (perhaps_once) estimate.arrays.push_back({"matrix of each cell", patches.slots, patches.slots * number});
  estimate.slack = patches.interface + (perhaps_once ? matrices : 0);
  // The lists of the sum for the diagonal; the cell of each matrix.
  estimate.making = patches.geometry + patches.lists + patches.interface + patches.slots * number;
  estimate.making_on_host = estimate.making;
  if (resolution == ConflictResolution::gather) estimate.persistent = patches.persistent;
  const std::int64_t read = (once ? patches.slots * number : matrices) + patches.lists + expected_interface(form);
  estimate.product = footprint_of_cells<T>(form, form.cells(), read, n * n);
  return estimate;
}

template <ConflictResolution resolution, std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  chosen_lma(*from.form, Device::host, lma_name(resolution), given);
  return std::make_unique<Lma<T>>(*from.form, *from.element_matrices, resolution);
}

template <ConflictResolution resolution, std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const LmaChoice choice = chosen_lma(*of.form, of.device, lma_name(resolution), given);
  return of.device == Device::host ? estimate_on_host<T>(*of.form, resolution)
                                   : estimate_on_gpu<T>(*of.form, resolution, choice.dedup);
}

template <ConflictResolution resolution>
OperatorDescription describe(std::string_view stores) {
  return {.name = lma_name(resolution),
          .stores = stores,
          .source = "Reguly & Giles 2012",
          .needs = Needs::element_matrices,
          .cuda = true,
          .options = options,
          .on_host = {make<resolution, double>, make<resolution, float>},
          .estimates = {estimate<resolution, double>, estimate<resolution, float>},
          .cuda_gains_from_multi_vectors = false};
}

}  // namespace

OperatorDescription lma_atomic() {
  return describe<ConflictResolution::atomic>("element matrices (symmetric half); shared unknowns added atomically");
}
OperatorDescription lma_coloured() {
  return describe<ConflictResolution::coloured>(
      "element matrices (symmetric half); shared unknowns added colour by colour, reproducible");
}
OperatorDescription lma_gather() {
  return describe<ConflictResolution::gather>(
      "element matrices (symmetric half); shared unknowns gathered in a fixed order, reproducible");
}

}  // namespace femcg::operators

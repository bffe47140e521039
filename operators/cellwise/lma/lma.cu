// y = sum_c P_c' (K_c (P_c x)) with stored element matrices (Reguly & Giles 2012, section 8), patch by patch:
// operators/cellwise/cell_loops/patch_product.cuh treats shared unknowns, lma_cells.cuh has the threads of a cell.
//
// One thread a cell up to 27 dofs, one warp a cell above. A product moves n (n + 1) / 2 words and 2 n bytes per cell of
// n dofs, and x and y. In two dimensions and double precision an unknown of Q1 to Q4 costs 112, 116, 145, 185 bytes
// with the interface, including 80, 90, 121, 162 for the matrices; if congruent cells store one matrix, these stay in
// the caches and cost a 4-byte index per cell.

#include <algorithm>
#include <stdexcept>

#include "operators/cellwise/lma/lma.hpp"
#include "operators/cellwise/lma/lma_cells.cuh"
#include "operators/cellwise/lma/lma_inputs.hpp"
#include "operators/persistent/persistent_patches.cuh"

namespace femcg::operators {

namespace {

template <std::floating_point T, class Cells>
class LmaOnGpu final : public Operator<T>, public WithPersistentCg<T> {
 public:
  LmaOnGpu(const LmaInputs& inputs, ConflictResolution resolution)
      : Operator<T>(inputs.patches.unknown_count, Device::cuda),
        dofs_(inputs.patches.dofs),
        cells_(inputs.factors.cells),
        unknown_at_(copied(inputs.patches.unknown_at, Device::cuda)),
        values_(assemble_on_gpu<T>(inputs)),
        matrix_of_slot_(copied(inputs.matrix_of_slot, Device::cuda)),
        diagonal_(diagonal_of(inputs)),
        chosen_(chosen_of(inputs)),
        product_(inputs.patches, resolution, Cells::scratch_size) {}

  void diagonal(Vector<T>& d) const override { copy(diagonal_, d); }
  std::map<std::string, std::string> chosen() const override { return chosen_; }
  const Vector<std::int32_t>& ordering() const override { return unknown_at_; }
  /// For gather only, whose order of sums the persistent kernel keeps.
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override {
    return product_.resolution() != ConflictResolution::gather
               ? nullptr
               : cuda::make_persistent_patches(product_, cells_at_hand(), this->size(), systems);
  }

  Footprint footprint() const override {
    const std::int64_t word = sizeof(T), packed = std::int64_t{dofs_} * (dofs_ + 1) / 2;
    Footprint footprint;
    footprint.stored_bytes = values_.bytes() + matrix_of_slot_.bytes() + product_.bytes();
    footprint.moved_bytes = std::min(values_.bytes(), cells_ * packed * word) + matrix_of_slot_.bytes() +
                            product_.moved_bytes(this->size());
    footprint.effective_bytes = footprint.stored_bytes + 3 * cells_ * dofs_ * word;
    footprint.flops = 2 * cells_ * dofs_ * dofs_;
    return footprint;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(cells_at_hand(), x, y, energy);
  }
  Cells cells_at_hand() const { return {values_.data(), matrix_of_slot_.data()}; }

  static std::map<std::string, std::string> chosen_of(const LmaInputs& inputs) {
    return {{"dedup", inputs.stored_once() ? "on" : "off"},
            {"matrices", std::to_string(inputs.stored_once() ? inputs.cell_of_matrix.size() : inputs.factors.cells)},
            {"patch", std::to_string(inputs.patches.most_cells())}};
  }
  Vector<T> diagonal_of(const LmaInputs& inputs) const {
    const cuda::PatchProduct<T, cuda::LmaDiagonalCells<T>> sum(inputs.patches, ConflictResolution::gather);
    Vector<T> none(inputs.patches.unknown_count, Device::cuda), diagonal(inputs.patches.unknown_count, Device::cuda);
    clear(none);
    sum({LmaLayout<T>(dofs_, inputs.stored_once()), values_.data(),
         inputs.stored_once() ? matrix_of_slot_.data() : nullptr},
        none, diagonal, nullptr);
    synchronize(Device::cuda);  // before `none` and the lists of the sum are freed
    return diagonal;
  }

  int dofs_;
  std::int64_t cells_;
  Vector<std::int32_t> unknown_at_;
  Vector<T> values_;
  Vector<std::int32_t> matrix_of_slot_;
  Vector<T> diagonal_;
  std::map<std::string, std::string> chosen_;
  cuda::PatchProduct<T, Cells> product_;
};

template <std::floating_point T, int n, bool once>
std::unique_ptr<Operator<T>> make(const LmaInputs& inputs, ConflictResolution resolution) {
  if constexpr (lma_cell_threads(n) == CellThreads::one)
    return std::make_unique<LmaOnGpu<T, cuda::ThreadCells<T, n, once>>>(inputs, resolution);
  else
    return std::make_unique<LmaOnGpu<T, cuda::WarpCells<T, n, once>>>(inputs, resolution);
}

template <std::floating_point T, int n>
std::unique_ptr<Operator<T>> make(const LmaInputs& inputs, ConflictResolution resolution) {
  return inputs.stored_once() ? make<T, n, true>(inputs, resolution) : make<T, n, false>(inputs, resolution);
}

template <ConflictResolution resolution, std::floating_point T>
std::unique_ptr<Operator<T>> make_lma(const Ingredients<T>& from, const Options& given) {
  const LmaChoice choice = chosen_lma(*from.form, Device::cuda, lma_name(resolution), given);
  const LmaInputs inputs = lma_inputs(*from.form, resolution, choice);
  switch (inputs.patches.dofs) {
    case 3:
      return make<T, 3>(inputs, resolution);
    case 4:
      return make<T, 4>(inputs, resolution);
    case 6:
      return make<T, 6>(inputs, resolution);
    case 8:
      return make<T, 8>(inputs, resolution);
    case 9:
      return make<T, 9>(inputs, resolution);
    case 10:
      return make<T, 10>(inputs, resolution);
    case 15:
      return make<T, 15>(inputs, resolution);
    case 16:
      return make<T, 16>(inputs, resolution);
    case 20:
      return make<T, 20>(inputs, resolution);
    case 25:
      return make<T, 25>(inputs, resolution);
    case 27:
      return make<T, 27>(inputs, resolution);
    case 35:
      return make<T, 35>(inputs, resolution);
    case 64:
      return make<T, 64>(inputs, resolution);
    case 125:
      return make<T, 125>(inputs, resolution);
    default:
      throw std::invalid_argument("element matrices on a GPU are for cells of degree 1 to 4");
  }
}

template <ConflictResolution resolution>
Makers makers() {
  return {make_lma<resolution, double>, make_lma<resolution, float>};
}

}  // namespace

Makers lma_atomic_on_gpu() { return makers<ConflictResolution::atomic>(); }
Makers lma_coloured_on_gpu() { return makers<ConflictResolution::coloured>(); }
Makers lma_gather_on_gpu() { return makers<ConflictResolution::gather>(); }

}  // namespace femcg::operators

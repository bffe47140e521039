// On the host. Stored: the lower triangle of each K_c, interleaved over the cells of a batch (entry by entry, a cache
// line of lanes each), and 16-bit places of the cells' unknowns in their block. A product moves n (n + 1) / 2 words and
// 2 n bytes per cell of n dofs, and x and y once.

#include "operators/lma/lma.hpp"

#include <array>

#include "operators/cell_loops/cell_blocks.hpp"
#include "operators/cell_loops/patch_option.hpp"
#include "operators/lma/lma_inputs.hpp"

namespace femcg::operators {

namespace {

template <std::floating_point T>
class Lma final : public Operator<T> {
 public:
  Lma(const BilinearForm& form, const ElementMatrices& matrices, ConflictResolution resolution)
      : Operator<T>(form.unknowns, Device::host),
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
    fill(d, T(0));
    const int n = blocks_.dofs();
    const std::int64_t packed = std::int64_t{n} * (n + 1) / 2;
    for (const auto& block : blocks_.blocks()) {
      const auto list = blocks_.unknowns(block);
      for (std::int32_t batch = block.first_batch; batch < block.last_batch; ++batch)
        for (int a = 0; a < n; ++a)
          for (int l = 0; l < CellBlocks<T>::lanes; ++l)
            if (const auto place = blocks_.places(batch)[a * CellBlocks<T>::lanes + l]; place < block.unknown_count)
              d[list[place]] += values_[batch * packed + std::int64_t{a} * (a + 3) / 2][l];
    }
  }

  Footprint footprint() const override {
    Footprint footprint;
    footprint.stored_bytes = values_.bytes() + blocks_.bytes();
    footprint.moved_bytes =
        footprint.stored_bytes + 2 * std::int64_t{this->size()} * static_cast<std::int64_t>(sizeof(T));
    // Every cell reads its part of x and adds its part of y: read and written once more.
    const std::int64_t cell_dofs = std::int64_t{blocks_.batches()} * CellBlocks<T>::lanes * blocks_.dofs();
    footprint.effective_bytes = footprint.stored_bytes + 3 * cell_dofs * static_cast<std::int64_t>(sizeof(T));
    footprint.flops = 2 * cell_dofs * blocks_.dofs();
    return footprint;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const int n = blocks_.dofs();
    const std::int64_t packed = std::int64_t{n} * (n + 1) / 2;
    const Lanes<T>* values = values_.data();
    blocks_.product(
        x.data(), y.data(), energy != nullptr ? energy->data() : nullptr,
        [n, packed, values](std::int32_t batch, const Lanes<T>* from, Lanes<T>* to) {
          const Lanes<T>* k = values + batch * packed;
          // Row i of the lower triangle serves y_i and, mirrored, the y_j before it.
          for (int i = 0; i < n; ++i) {
            const Lanes<T> x_i = from[i];
            Lanes<T> sum{};
            for (int j = 0; j < i; ++j, ++k) {
              sum += *k * from[j];
              to[j] += *k * x_i;
            }
            to[i] = sum + *k++ * x_i;
          }
        },
        [](std::int32_t, const T*, T*) { return 0.0; });
  }

  CellBlocks<T> blocks_;
  Vector<Lanes<T>> values_;  ///< batches x packed entries
};

constexpr std::array options{dedup_option, patch_option};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma(const Ingredients<T>& from, ConflictResolution resolution, std::string_view name,
                                      const Options& given) {
  const LmaChoice choice = chosen_lma(*from.form, from.device, name, given);
  if (from.device == Device::host) return std::make_unique<Lma<T>>(*from.form, *from.element_matrices, resolution);
  return make_lma_cuda<T>(lma_inputs(*from.form, resolution, choice), resolution);
}

}  // namespace

std::span<const OptionDescription> lma_options() { return options; }

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_atomic(const Ingredients<T>& from, const Options& given) {
  return make_lma(from, ConflictResolution::atomic, "lma-atomic", given);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_coloured(const Ingredients<T>& from, const Options& given) {
  return make_lma(from, ConflictResolution::coloured, "lma-coloured", given);
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_lma_gather(const Ingredients<T>& from, const Options& given) {
  return make_lma(from, ConflictResolution::gather, "lma-gather", given);
}

template std::unique_ptr<Operator<double>> make_lma_atomic(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_lma_atomic(const Ingredients<float>&, const Options&);
template std::unique_ptr<Operator<double>> make_lma_coloured(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_lma_coloured(const Ingredients<float>&, const Options&);
template std::unique_ptr<Operator<double>> make_lma_gather(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_lma_gather(const Ingredients<float>&, const Options&);

}  // namespace femcg::operators

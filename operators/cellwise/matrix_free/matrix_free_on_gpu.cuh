#pragma once

// Common parts of matrix-free on a GPU for all cells: data, operator.

#include <algorithm>
#include <memory>
#include <type_traits>
#include <variant>

#include "operators/backend/permutation.hpp"
#include "operators/cellwise/matrix_free/cells/matrix_free_cuda.hpp"
#include "operators/cellwise/matrix_free/cells/pair_cells.cuh"
#include "operators/cellwise/matrix_free/cells/tensor_geometry.cuh"
#include "operators/cellwise/matrix_free/matrix_free_diagonal.cuh"
#include "operators/cellwise/matrix_free/robin/on_gpu.hpp"
#include "operators/cellwise/matrix_free/robin/robin_on_gpu.hpp"
#include "operators/persistent/persistent_patches.cuh"

namespace femcg::operators {

/// Data of the cells in GPU memory; `tables` are of simplices, `affine_tables` of mixed ones.
template <class T>
struct CellData {
  explicit CellData(const MatrixFreeInputs& inputs, const std::vector<double>& tables = {},
                    const std::vector<double>& affine_tables = {})
      : gradients(on_gpu<T>(tables)), affine_gradients(on_gpu<T>(affine_tables)) {
    if (inputs.from != nullptr)
      round(*inputs.from->cells);
    else
      compute(inputs);
  }
  std::int64_t bytes() const {
    return factors.bytes() + affine_factors.bytes() + classes.bytes() + group_numbers.bytes() + gradients.bytes() +
           affine_gradients.bytes();
  }
  /// Null if each slot has its own data.
  const std::uint16_t* class_of_slot() const { return classes.size() > 0 ? classes.data() : nullptr; }

  Vector<T> factors, gradients;
  Vector<T> affine_factors, affine_gradients;  ///< of the affine cells among mixed ones
  Vector<std::uint16_t> classes;
  Vector<std::int32_t> group_numbers;  ///< of mixed cells (MatrixFreeInputs)

 private:
  void round(const CellData<double>& from) {
    factors = rounded<T>(from.factors);
    affine_factors = rounded<T>(from.affine_factors);
    classes = copied(from.classes, Device::cuda);
    group_numbers = copied(from.group_numbers, Device::cuda);
  }
  void compute(const MatrixFreeInputs& inputs) {
    const Vector<std::int32_t> cell_of_slot =
        copied(inputs.stored_once() ? inputs.cell_of_class : inputs.patches.cell_of_slot, Device::cuda);
    if (inputs.stored_once()) classes = copied(inputs.class_of_slot, Device::cuda);
    if (inputs.geometry == CellGeometry::stored)
      factors = cuda_cell_factors<T>(inputs.factors, cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::affine)
      factors = cuda_cell_factors<T>(inputs.factors.at_first_point(), cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::boxes) factors = diagonals(inputs, cell_of_slot);
    if (inputs.geometry == CellGeometry::vertices) factors = straight_cells(inputs, cell_of_slot);
    if (inputs.geometry == CellGeometry::pairs) factors = pairs(inputs, cell_of_slot);
    if (inputs.geometry == CellGeometry::mixed) {
      group_numbers = copied(inputs.groups.numbers, Device::cuda);
      factors = inputs.pairs_of_others() ? pairs(inputs, copied(inputs.groups.other_cells, Device::cuda))
                                         : factors_of(inputs.factors, inputs.groups.other_cells);
      affine_factors = factors_of(inputs.factors.at_first_point(), inputs.groups.affine_cells);
    }
    synchronize(Device::cuda);  // before cell_of_slot is freed
  }
  static Vector<T> factors_of(const FactorInputs& from, const Vector<std::int32_t>& cells) {
    const Vector<std::int32_t> there = copied(cells, Device::cuda);
    Vector<T> factors = cuda_cell_factors<T>(from, there, CellLayout::interleaved);
    synchronize(Device::cuda);  // before `there` is freed
    return factors;
  }
  static Vector<T> diagonals(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const Vector<T> whole = cuda_cell_factors<T>(inputs.factors.at_first_point(), cell_of_slot, inputs.patches.layout);
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> words(slots * inputs.dimension, Device::cuda);
    cuda::launch(inputs.dimension == 2 ? cuda::diagonals_kernel<T, 2> : cuda::diagonals_kernel<T, 3>,
                 cuda::blocks_of(slots, threads), threads, 0, whole.data(), slots,
                 inputs.patches.layout == CellLayout::interleaved, words.data());
    synchronize(Device::cuda);  // before `whole` is freed
    return words;
  }
  static Vector<T> pairs(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const int d = inputs.dimension, dofs = inputs.patches.dofs;
    const auto kernel = dofs == 3   ? cuda::pairs_kernel<T, 2, 3>
                        : dofs == 6 ? cuda::pairs_kernel<T, 2, 6>
                        : dofs == 8 ? cuda::pairs_kernel<T, 3, 8>
                        : dofs == 4 ? (d == 2 ? cuda::pairs_kernel<T, 2, 4> : cuda::pairs_kernel<T, 3, 4>)
                                    : cuda::pairs_kernel<T, 3, 10>;
    const Vector<double> gradients = basis_gradients(*inputs.form, Device::cuda);
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> numbers(slots * pairs_of(dofs), Device::cuda);
    cuda::launch(kernel, cuda::blocks_of(slots, threads), threads, 0, cuda::pointers(inputs.factors), gradients.data(),
                 cell_of_slot.data(), slots, numbers.data());
    synchronize(Device::cuda);  // before gradients and cell_of_slot are freed
    return numbers;
  }
  static Vector<T> straight_cells(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const FactorInputs& from = inputs.factors;
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> words(slots * (from.dimension == 2 ? straight_words<2> : straight_words<3>), Device::cuda);
    cuda::launch(from.dimension == 2 ? cuda::straight_cells_kernel<T, 2> : cuda::straight_cells_kernel<T, 3>,
                 cuda::blocks_of(slots, threads), threads, 0, cell_of_slot.data(), slots,
                 inputs.patches.layout == CellLayout::interleaved, cuda::nodes_of_cells(from), from.diffusion.data(),
                 from.diffusion_per_cell, words.data());
    return words;
  }
};

inline const char* name(CellGeometry geometry) {
  switch (geometry) {
    case CellGeometry::affine:
      return "affine";
    case CellGeometry::boxes:
      return "boxes";
    case CellGeometry::vertices:
      return "vertices";
    case CellGeometry::mixed:
      return "mixed";
    case CellGeometry::pairs:
      return "pairs";
    case CellGeometry::stored:
      break;
  }
  return "stored";
}

template <std::floating_point T, class Cells>
class MatrixFreeOnGpu final
    : public Operator<T>,
      public WithPersistentCg<T>,
      public std::conditional_t<std::is_same_v<T, double>, WithSinglePrecision, std::monostate> {
 public:
  /// `cells` point to `data`.
  MatrixFreeOnGpu(const MatrixFreeInputs& inputs, CellData<T> data, const Cells& cells, std::int64_t scratch,
                  std::int64_t operations)
      : MatrixFreeOnGpu(inputs,
                        inputs.from != nullptr ? inputs.from->patches
                                               : std::make_shared<const cuda::CellPatchesOnGpu>(inputs.patches),
                        std::move(data), cells, scratch, operations) {}

  void diagonal(Vector<T>& d) const override {
    const DiagonalTables tables = diagonal_tables(*of_.form, of_.geometry);
    const Vector<T> squares = on_gpu<T>(tables.squares), positions = on_gpu<T>(tables.positions);
    const bool interleaved = product_.patches().layout() == CellLayout::interleaved;
    cuda_matrix_free_diagonal<T>({of_.dimension, of_.geometry, interleaved, of_.form->dofs_per_cell(), tables.points,
                                  data_.factors.data(), data_.class_of_slot(), squares.data(), positions.data(),
                                  data_.affine_factors.data(), data_.group_numbers.data()},
                                 product_.patches(), product_.room(), d);
    robin_.add_diagonal(d);
  }
  const Vector<std::int32_t>& ordering() const override { return product_.patches().unknown_at(); }
  std::map<std::string, std::string> chosen() const override {
    std::map<std::string, std::string> chosen{{"geometry", name(of_.geometry)},
                                              {"dedup", data_.classes.size() > 0 ? "on" : "off"},
                                              {"patch", std::to_string(product_.patches().most_cells())}};
    if (const std::int64_t mixed = of_.affine_slots + of_.other_slots; mixed > 0)
      chosen["affine"] = std::to_string(100 * of_.affine_slots / mixed) + "%";
    return chosen;
  }
  /// The operator in single precision, of one in double precision.
  std::unique_ptr<Operator<float>> in_single_precision(std::string_view name) const {
    if (name != "matrix-free") return nullptr;
    const MatrixFreeInDouble from{product_.shared_patches(), &data_, &robin_};
    MatrixFreeInputs inputs;
    static_cast<MatrixFreeTables&>(inputs) = of_;
    inputs.from = &from;
    return make_matrix_free_cuda<float>(inputs);
  }
  /// Null with Robin terms, whose unknowns are in several patches.
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override {
    return !robin_.empty() ? nullptr : cuda::make_persistent_patches(product_, cells_, this->size(), systems);
  }

  Footprint footprint() const override {
    Footprint footprint;
    const std::int64_t cells = of_.form->cells();
    footprint.stored_bytes =
        data_.bytes() + (takes_over_ ? product_.own_bytes() : product_.bytes()) + robin_.stored_bytes();
    footprint.moved_bytes = data_.bytes() + product_.moved_bytes(this->size()) + robin_.moved_bytes();
    footprint.effective_bytes = data_.bytes() + product_.bytes() + robin_.stored_bytes() +
                                3 * cells * of_.form->dofs_per_cell() * std::int64_t{sizeof(T)};
    footprint.flops = 2 * cells * operations_;
    return footprint;
  }

 private:
  MatrixFreeOnGpu(const MatrixFreeInputs& inputs, std::shared_ptr<const cuda::CellPatchesOnGpu> patches,
                  CellData<T> data, const Cells& cells, std::int64_t scratch, std::int64_t operations)
      : Operator<T>(patches->unknown_count(), Device::cuda),
        of_(inputs),
        takes_over_(inputs.from != nullptr),
        operations_(operations),
        data_(std::move(data)),
        cells_(cells),
        product_(std::move(patches), ConflictResolution::gather, scratch),
        robin_(takes_over_ ? RobinOnGpu<T>(inputs.from->robin) : RobinOnGpu<T>(inputs.robin)) {}

  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    robin_.begin(x);
    product_(cells_, x, y, energy);
    robin_.end(y, energy);
  }

  MatrixFreeTables of_;
  bool takes_over_;  ///< true if the patches are those of an operator in double precision
  std::int64_t operations_;
  CellData<T> data_;
  Cells cells_;
  cuda::PatchProduct<T, Cells> product_;
  RobinOnGpu<T> robin_;
};

}  // namespace femcg::operators

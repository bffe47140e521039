#pragma once

// What matrix-free on a GPU is whatever its cells are: their data, the Robin terms, the operator.

#include <algorithm>

#include "operators/backend/cuda/column_sums.cuh"
#include "operators/backend/permutation.hpp"
#include "operators/matrix_free/matrix_free_cuda.hpp"
#include "operators/matrix_free/matrix_free_diagonal.cuh"
#include "operators/matrix_free/tensor_geometry.cuh"
#include "operators/persistent/persistent_patches.cuh"

namespace femcg::operators {

template <class T>
Vector<T> on_gpu(const std::vector<double>& from) {
  Vector<T> on_host(static_cast<std::int64_t>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(from[i]);
  return copied(on_host, Device::cuda);
}
inline Vector<std::int32_t> on_gpu(const std::vector<std::int32_t>& from) {
  Vector<std::int32_t> to(static_cast<std::int64_t>(from.size()), Device::cuda);
  copy_bytes(from.data(), Device::host, to.data(), Device::cuda, to.bytes());
  return to;
}

/// The rows of Robin facets.
template <class T>
struct RobinPointers {
  std::int32_t count;
  const std::int32_t *rows, *offsets, *columns;
  const T* values;
};
constexpr int robin_threads = 128;
constexpr int robin_threads_per_row = 8;  // a row has 3 to 81 entries, and there are few rows to wait for at once

/// y += R x and *energy += x'R x.
template <class T>
__global__ void __launch_bounds__(robin_threads)
    robin_kernel(RobinPointers<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  constexpr std::int32_t rows_of_block = robin_threads / robin_threads_per_row;
  const std::int32_t in_block = static_cast<std::int32_t>(threadIdx.x) / robin_threads_per_row;
  const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x) % robin_threads_per_row;
  const std::int32_t stride = static_cast<std::int32_t>(gridDim.x) * rows_of_block;
  constexpr int together = 4;  // entries of a thread that are on their way at once: most rows are no longer
  double sums[1] = {0};
  for (std::int32_t first = static_cast<std::int32_t>(blockIdx.x) * rows_of_block; first < a.count; first += stride) {
    const std::int32_t k = first + in_block;
    const bool there = k < a.count;
    const std::int32_t begin = there ? a.offsets[k] : 0, end = there ? a.offsets[k + 1] : 0;
    const std::int32_t row = there ? a.rows[k] : 0;
    T sum = 0;
    for (std::int32_t e = begin + lane; e < end; e += together * robin_threads_per_row) {
      std::int32_t columns[together];
      T values[together];
#pragma unroll
      for (int j = 0; j < together; ++j) {
        const std::int32_t at = e + j * robin_threads_per_row;
        columns[j] = at < end ? __ldcs(a.columns + at) : -1;
        values[j] = at < end ? __ldcs(a.values + at) : T(0);
      }
#pragma unroll
      for (int j = 0; j < together; ++j)
        if (columns[j] >= 0) sum += values[j] * __ldg(x + columns[j]);
    }
    sum = cuda::sum_of_lanes<robin_threads_per_row>(sum);
    if (!there || lane > 0) continue;
    y[row] += sum;
    sums[0] += cuda::energy_of_row(x[row], sum);
  }
  if (energy != nullptr) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy += results[0]; });
}

/// The same for interleaved vectors, a thread per row and vector: neighbouring threads have neighbouring vectors.
template <class T>
__global__ void __launch_bounds__(robin_threads)
    robin_columns_kernel(RobinPointers<T> a, int stride, const T* x, T* y, double* energies, cuda::ColumnParts parts) {
  __shared__ double of_warps[robin_threads / cuda::threads_per_warp * Columns<T>::most];
  const int c = static_cast<int>(threadIdx.x) % stride, lane = static_cast<int>(threadIdx.x) % cuda::threads_per_warp;
  const std::int64_t threads = std::int64_t{gridDim.x} * robin_threads;
  double sum_of_thread = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * robin_threads + threadIdx.x; i < std::int64_t{a.count} * stride;
       i += threads) {
    const std::int64_t k = i / stride;
    T sum = 0;
    for (std::int32_t e = a.offsets[k]; e < a.offsets[k + 1]; ++e)
      sum += a.values[e] * __ldg(x + std::int64_t{a.columns[e]} * stride + c);
    const std::int64_t at = std::int64_t{a.rows[k]} * stride + c;
    y[at] += sum;
    sum_of_thread += cuda::energy_of_row(x[at], sum);
  }
  if (energies == nullptr) return;
  for (int distance = cuda::threads_per_warp / 2; distance >= stride; distance /= 2)
    sum_of_thread += __shfl_xor_sync(cuda::all_lanes, sum_of_thread, distance);
  if (lane < stride) of_warps[static_cast<int>(threadIdx.x) / cuda::threads_per_warp * stride + lane] = sum_of_thread;
  cuda::sum_warps_of_grid(of_warps, stride, parts, [&](int column, double sum) { energies[column] += sum; });
}

/// What the rows have on the diagonal is added to it.
template <class T>
__global__ void robin_diagonal_kernel(RobinPointers<T> a, T* diagonal) {
  const std::int32_t k = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= a.count) return;
  for (std::int32_t e = a.offsets[k]; e < a.offsets[k + 1]; ++e)
    if (a.columns[e] == a.rows[k]) diagonal[a.rows[k]] += a.values[e];
}

/// The Robin terms on the GPU.
template <class T>
class Robin {
 public:
  explicit Robin(const RobinRows& from)
      : rows_(on_gpu(from.rows)),
        offsets_(on_gpu(from.offsets)),
        columns_(on_gpu(from.columns)),
        values_(on_gpu<T>(from.values)),
        blocks_(std::min((rows_.size() * robin_threads_per_row + robin_threads - 1) / robin_threads,
                         cuda::resident_blocks(robin_kernel<T>, robin_threads))),
        parts_(blocks_),
        column_blocks_(std::min((rows_.size() * Columns<T>::most + robin_threads - 1) / robin_threads,
                                cuda::resident_blocks(robin_columns_kernel<T>, robin_threads))),
        column_parts_(column_blocks_, Columns<T>::most) {}
  bool empty() const { return rows_.size() == 0; }
  std::int64_t bytes() const { return rows_.bytes() + offsets_.bytes() + columns_.bytes() + values_.bytes(); }
  void add(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    cuda::launch(robin_kernel<T>, blocks_, robin_threads, 0, pointers(), x.data(), y.data(),
                 energy != nullptr ? energy->data() : nullptr, parts_.parts());
  }
  void add(const Columns<T>& x, Columns<T>& y, double* energies) const {
    cuda::launch(robin_columns_kernel<T>, column_blocks_, robin_threads, 0, pointers(), x.stride(), x.data(), y.data(),
                 energies, column_parts_.parts());
  }
  void add_diagonal(Vector<T>& diagonal) const {
    cuda::launch(robin_diagonal_kernel<T>, (rows_.size() + robin_threads - 1) / robin_threads, robin_threads, 0,
                 pointers(), diagonal.data());
  }

 private:
  RobinPointers<T> pointers() const {
    return {static_cast<std::int32_t>(rows_.size()), rows_.data(), offsets_.data(), columns_.data(), values_.data()};
  }

  Vector<std::int32_t> rows_, offsets_, columns_;
  Vector<T> values_;
  std::int64_t blocks_;
  mutable cuda::PartsStorage<1> parts_;
  std::int64_t column_blocks_;
  mutable cuda::ColumnPartsStorage column_parts_;
};

/// What cells are multiplied with, in the GPU's memory; `tables` are of simplices, `affine_tables` of mixed ones.
template <class T>
struct CellData {
  explicit CellData(const MatrixFreeInputs& inputs, const std::vector<double>& tables = {},
                    const std::vector<double>& affine_tables = {}) {
    const Vector<std::int32_t> cell_of_slot =
        copied(inputs.stored_once() ? inputs.cell_of_kind : inputs.patches.cell_of_slot, Device::cuda);
    if (inputs.stored_once()) kinds = copied(inputs.kind_of_slot, Device::cuda);
    if (inputs.geometry == CellGeometry::stored)
      factors = cuda_cell_factors<T>(inputs.factors, cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::affine)
      factors = cuda_cell_factors<T>(inputs.factors.at_first_point(), cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::boxes) factors = diagonals(inputs, cell_of_slot);
    if (inputs.geometry == CellGeometry::vertices) factors = straight_cells(inputs, cell_of_slot);
    if (inputs.geometry == CellGeometry::mixed) {
      group_numbers = copied(inputs.group_numbers, Device::cuda);
      factors = factors_of(inputs.factors, inputs.other_cells);
      affine_factors = factors_of(inputs.factors.at_first_point(), inputs.affine_cells);
    }
    gradients = on_gpu<T>(tables);
    affine_gradients = on_gpu<T>(affine_tables);
    synchronize(Device::cuda);  // cell_of_slot goes
  }
  std::int64_t bytes() const {
    return factors.bytes() + affine_factors.bytes() + kinds.bytes() + group_numbers.bytes() + gradients.bytes() +
           affine_gradients.bytes();
  }
  /// Null where each slot has numbers of its own.
  const std::uint16_t* kind_of_slot() const { return kinds.size() > 0 ? kinds.data() : nullptr; }

  Vector<T> factors, gradients;
  Vector<T> affine_factors, affine_gradients;  ///< of mixed cells, those that are affine
  Vector<std::uint16_t> kinds;
  Vector<std::int32_t> group_numbers;  ///< of mixed cells (MatrixFreeInputs)

 private:
  static Vector<T> factors_of(const FactorInputs& from, const Vector<std::int32_t>& cells) {
    const Vector<std::int32_t> there = copied(cells, Device::cuda);
    Vector<T> factors = cuda_cell_factors<T>(from, there, PlaceLayout::interleaved);
    synchronize(Device::cuda);  // `there` goes
    return factors;
  }
  static Vector<T> diagonals(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const Vector<T> whole = cuda_cell_factors<T>(inputs.factors.at_first_point(), cell_of_slot, inputs.patches.layout);
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> words(slots * inputs.factors.dimension, Device::cuda);
    cuda::launch(inputs.factors.dimension == 2 ? cuda::diagonals_kernel<T, 2> : cuda::diagonals_kernel<T, 3>,
                 (slots + threads - 1) / threads, threads, 0, whole.data(), slots,
                 inputs.patches.layout == PlaceLayout::interleaved, words.data());
    synchronize(Device::cuda);  // `whole` goes
    return words;
  }
  static Vector<T> straight_cells(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const FactorInputs& from = inputs.factors;
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> words(slots * (from.dimension == 2 ? straight_words<2> : straight_words<3>), Device::cuda);
    cuda::launch(from.dimension == 2 ? cuda::straight_cells_kernel<T, 2> : cuda::straight_cells_kernel<T, 3>,
                 (slots + threads - 1) / threads, threads, 0, cell_of_slot.data(), slots,
                 inputs.patches.layout == PlaceLayout::interleaved, from.cell_nodes.data(), from.coordinates.data(),
                 from.diffusion.data(), from.diffusion_per_cell, words.data());
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
    case CellGeometry::stored:
      break;
  }
  return "stored";
}

template <std::floating_point T, class Cells>
class MatrixFreeOnGpu final : public Operator<T>, public WithPersistentCg<T> {
 public:
  /// `cells` point to the data.
  MatrixFreeOnGpu(const MatrixFreeInputs& inputs, CellData<T> data, const Cells& cells, std::int64_t scratch,
                  std::int64_t operations)
      : Operator<T>(inputs.patches.unknown_count, Device::cuda),
        form_(inputs.form),
        unknown_at_(copied(inputs.patches.unknown_at, Device::cuda)),
        cells_count_(inputs.factors.cell_nodes.size() / inputs.factors.nodes),
        dofs_(inputs.patches.dofs),
        geometry_(inputs.geometry),
        interleaved_(inputs.patches.layout == PlaceLayout::interleaved),
        operations_(operations),
        data_(std::move(data)),
        cells_(cells),
        chosen_{{"geometry", name(inputs.geometry)},
                {"dedup", inputs.stored_once() ? "on" : "off"},
                {"patch", std::to_string(inputs.patches.most_cells())}},
        product_(inputs.patches, ConflictResolution::gather, scratch),
        robin_(inputs.robin) {
    if (const std::int64_t mixed = inputs.affine_cells.size() + inputs.other_cells.size(); mixed > 0)
      chosen_["affine"] = std::to_string(100 * inputs.affine_cells.size() / mixed) + "%";
  }

  void diagonal(Vector<T>& d) const override {
    const DiagonalTables tables = diagonal_tables(*form_, geometry_);
    const Vector<T> squares = on_gpu<T>(tables.squares), positions = on_gpu<T>(tables.positions),
                    weights = on_gpu<T>(tables.weights);
    cuda_matrix_free_diagonal<T>({form_->space->mesh().dimension(), geometry_, interleaved_, dofs_, tables.points,
                                  data_.factors.data(), data_.kind_of_slot(), squares.data(), positions.data(),
                                  data_.affine_factors.data(), data_.group_numbers.data(), weights.data()},
                                 product_.patches(), product_.room(), d);
    robin_.add_diagonal(d);
  }
  const Vector<std::int32_t>& ordering() const override { return unknown_at_; }
  std::map<std::string, std::string> chosen() const override { return chosen_; }
  /// Not with Robin terms, whose rows reach into several patches.
  std::unique_ptr<PersistentCg<T>> persistent_cg(PersistentFor systems) const override {
    return !robin_.empty() ? nullptr : cuda::make_persistent_patches(product_, cells_, this->size(), systems);
  }

  Footprint footprint() const override {
    Footprint footprint;
    footprint.stored_bytes = data_.bytes() + product_.bytes() + robin_.bytes();
    footprint.moved_bytes = data_.bytes() + product_.moved_bytes(this->size()) + robin_.bytes();
    footprint.effective_bytes = footprint.stored_bytes + 3 * cells_count_ * dofs_ * std::int64_t{sizeof(T)};
    footprint.flops = 2 * cells_count_ * operations_;
    return footprint;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    product_(cells_, x, y, energy);
    robin_.add(x, y, energy);
  }
  void multiply_columns(const Columns<T>& x, Columns<T>& y, double* energies) const override {
    product_(cells_, x, y, energies);
    robin_.add(x, y, energies);
  }

  const BilinearForm* form_;
  Vector<std::int32_t> unknown_at_;
  std::int64_t cells_count_;
  int dofs_;
  CellGeometry geometry_;
  bool interleaved_;  ///< the layout of the cells' numbers
  std::int64_t operations_;
  CellData<T> data_;
  Cells cells_;
  std::map<std::string, std::string> chosen_;
  cuda::PatchProduct<T, Cells> product_;
  Robin<T> robin_;
};

}  // namespace femcg::operators

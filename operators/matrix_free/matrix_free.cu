// y = sum_c P_c' (B' D B) (P_c x) on the GPU without a matrix, patch by patch: operators/cuda_patch_product.cuh has
// what becomes of shared unknowns; tensor_cells.cuh, hexahedron_cells.cuh, tensor_any_points.cuh, simplex_cells.cuh and
// simplex_warp_cells.cuh have what the threads do with a cell.
//
// A product moves, besides x and y once and the patches' lists (about 2 n / m bytes an unknown, n dofs and m new
// unknowns a cell), d (d + 1) / 2 words a cell (affine), its vertices' numbers (straight sides), or d (d + 1) / 2 words
// a quadrature point (stored). Contributions to the rim of patches are gathered in a fixed order: two runs give the
// same bits.

#include <algorithm>

#include "operators/cuda_patch_product.cuh"
#include "operators/matrix_free/hexahedron_cells.cuh"
#include "operators/matrix_free/matrix_free_cuda.hpp"
#include "operators/matrix_free/simplex_cells.cuh"
#include "operators/matrix_free/simplex_warp_cells.cuh"
#include "operators/matrix_free/tensor_any_points.cuh"

namespace femcg::operators {

namespace {

template <class T>
Vector<T> on_gpu(const std::vector<double>& from) {
  Vector<T> on_host(static_cast<std::int64_t>(from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) on_host[static_cast<std::int64_t>(i)] = static_cast<T>(from[i]);
  return copied(on_host, Device::cuda);
}
Vector<std::int32_t> on_gpu(const std::vector<std::int32_t>& from) {
  Vector<std::int32_t> to(static_cast<std::int64_t>(from.size()), Device::cuda);
  copy_bytes(from.data(), Device::host, to.data(), Device::cuda, to.bytes());
  return to;
}

/// y += R x and *energy += x'R x on the rows of Robin facets.
template <class T>
struct RobinPointers {
  std::int32_t count;
  const std::int32_t *rows, *offsets, *columns;
  const T* values;
};
constexpr int robin_threads = 128;
template <class T>
__global__ void __launch_bounds__(robin_threads)
    robin_kernel(RobinPointers<T> a, const T* x, T* y, double* energy, cuda::Parts<1> parts) {
  const std::int32_t stride = static_cast<std::int32_t>(gridDim.x) * robin_threads;
  double sums[1] = {0};
  for (std::int32_t k = static_cast<std::int32_t>(blockIdx.x) * robin_threads + threadIdx.x; k < a.count; k += stride) {
    T sum = 0;
    for (std::int32_t e = a.offsets[k]; e < a.offsets[k + 1]; ++e) sum += a.values[e] * __ldg(x + a.columns[e]);
    y[a.rows[k]] += sum;
    sums[0] += cuda::energy_of_row(x[a.rows[k]], sum);
  }
  if (energy != nullptr) cuda::sum_of_grid(sums, parts, [&](const double(&results)[1]) { *energy += results[0]; });
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
        blocks_(std::min((rows_.size() + robin_threads - 1) / robin_threads,
                         cuda::resident_blocks(robin_kernel<T>, robin_threads))),
        parts_(blocks_) {}
  std::int64_t bytes() const { return rows_.bytes() + offsets_.bytes() + columns_.bytes() + values_.bytes(); }
  void add(const Vector<T>& x, Vector<T>& y, Scalar* energy) const {
    const RobinPointers<T> a{static_cast<std::int32_t>(rows_.size()), rows_.data(), offsets_.data(), columns_.data(),
                             values_.data()};
    cuda::launch(robin_kernel<T>, blocks_, robin_threads, 0, a, x.data(), y.data(),
                 energy != nullptr ? energy->data() : nullptr, parts_.parts());
  }

 private:
  Vector<std::int32_t> rows_, offsets_, columns_;
  Vector<T> values_;
  std::int64_t blocks_;
  mutable cuda::PartsStorage<1> parts_;
};

/// What cells are multiplied with, in the GPU's memory; `tables` are of simplices.
template <class T>
struct CellData {
  explicit CellData(const MatrixFreeInputs& inputs, const std::vector<double>& tables = {}) {
    const Vector<std::int32_t> cell_of_slot = copied(inputs.patches.cell_of_slot, Device::cuda);
    if (inputs.geometry == CellGeometry::stored)
      factors = cuda_cell_factors<T>(inputs.factors, cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::affine)
      factors = cuda_cell_factors<T>(inputs.factors.at_first_point(), cell_of_slot, inputs.patches.layout);
    if (inputs.geometry == CellGeometry::vertices) factors = straight_cells(inputs, cell_of_slot);
    gradients = on_gpu<T>(tables);
    synchronize(Device::cuda);  // cell_of_slot goes
  }
  std::int64_t bytes() const { return factors.bytes() + gradients.bytes(); }

  Vector<T> factors, gradients;

 private:
  static Vector<T> straight_cells(const MatrixFreeInputs& inputs, const Vector<std::int32_t>& cell_of_slot) {
    constexpr int threads = 128;
    const FactorInputs& from = inputs.factors;
    const std::int64_t slots = cell_of_slot.size();
    Vector<T> words(slots * (from.dimension == 2 ? straight_words<2> : straight_words<3>), Device::cuda);
    cuda::launch(from.dimension == 2 ? cuda::straight_cells_kernel<T, 2> : cuda::straight_cells_kernel<T, 3>,
                 (slots + threads - 1) / threads, threads, 0, cell_of_slot.data(), slots,
                 inputs.patches.layout == PlaceLayout::interleaved, from.cell_nodes.data(), from.coordinates.data(),
                 from.diffusion.data(), from.diffusion_a_cell, words.data());
    return words;
  }
};

template <std::floating_point T, class Cells>
class MatrixFreeOnGpu final : public Operator<T> {
 public:
  /// `cells` point to the data.
  MatrixFreeOnGpu(const MatrixFreeInputs& inputs, CellData<T> data, const Cells& cells, std::int64_t scratch,
                  std::int64_t operations)
      : Operator<T>(inputs.patches.unknown_count, Device::cuda),
        form_(inputs.form),
        unknown_at_(copied(inputs.patches.unknown_at, Device::host)),
        cells_count_(inputs.factors.cell_nodes.size() / inputs.factors.nodes),
        dofs_(inputs.patches.dofs),
        operations_(operations),
        data_(std::move(data)),
        cells_(cells),
        product_(inputs.patches, Races::gather, scratch),
        robin_(inputs.robin) {}

  void diagonal(Vector<T>& d) const override {
    const Vector<double> exact = matrix_free_diagonal(*form_);
    Vector<T> rounded(exact.size());
    for (std::int64_t i = 0; i < exact.size(); ++i) rounded[i] = static_cast<T>(exact[unknown_at_[i]]);
    copy(rounded, d);
  }
  std::span<const std::int32_t> basis() const override { return unknown_at_.span(); }

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

  const BilinearForm* form_;
  Vector<std::int32_t> unknown_at_;
  std::int64_t cells_count_;
  int dofs_;
  std::int64_t operations_;
  CellData<T> data_;
  Cells cells_;
  cuda::PatchProduct<T, Cells> product_;
  Robin<T> robin_;
};

template <class T, int n>
cuda::LineTables<T, n> line_tables(const MatrixFreeInputs& inputs) {
  cuda::LineTables<T, n> tables;
  for (int q = 0; q < n; ++q)
    for (int a = 0; a < n; ++a) {
      tables.interpolate[q][a] = static_cast<T>(inputs.interpolate[static_cast<std::size_t>(q * n + a)]);
      tables.differentiate[q][a] = static_cast<T>(inputs.differentiate[static_cast<std::size_t>(q * n + a)]);
    }
  return tables;
}

template <class T, int d, int n, CellGeometry kind>
cuda::TensorGeometry<T, d, n, kind> tensor_geometry(const MatrixFreeInputs& inputs, const CellData<T>& data) {
  cuda::TensorGeometry<T, d, n, kind> geometry;
  geometry.data = data.factors.data();
  for (std::size_t q = 0; q < n; ++q) {
    if constexpr (kind == CellGeometry::vertices) geometry.points[q] = static_cast<T>(inputs.points[q]);
    if constexpr (kind != CellGeometry::stored) geometry.weights[q] = static_cast<T>(inputs.weights[q]);
  }
  return geometry;
}

template <class T, int d, int n, CellGeometry kind>
std::unique_ptr<Operator<T>> make_tensor(const MatrixFreeInputs& inputs) {
  constexpr std::int64_t points = d == 2 ? n * n : n * n * n;
  // Interpolation and derivatives there and back, and D.
  constexpr std::int64_t operations = 4 * d * n * points + (kind == CellGeometry::vertices ? 3 : 1) * d * d * points;
  using Hexahedra = std::conditional_t<thread_a_hexahedron(n, kind), cuda::ThreadHexahedra<T, n, kind>,
                                       cuda::TeamHexahedra<T, n, kind>>;
  using Cells = std::conditional_t<d == 2, cuda::QuadrilateralCells<T, n, kind>, Hexahedra>;
  CellData<T> data(inputs);
  const Cells cells{line_tables<T, n>(inputs), tensor_geometry<T, d, n, kind>(inputs, data)};
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, Cells::scratch_size, operations);
}

template <class T, int n>
cuda::BasisTables<T, n> basis_tables(const MatrixFreeInputs& inputs) {
  cuda::BasisTables<T, n> tables{};
  tables.points = static_cast<int>(inputs.points.size());
  for (int q = 0; q < tables.points; ++q)
    for (int a = 0; a < n; ++a) {
      const auto at = static_cast<std::size_t>(q * n + a);
      tables.interpolate[q][a] = static_cast<T>(inputs.interpolate[at]);
      tables.differentiate[q][a] = static_cast<T>(inputs.interpolate_derivative[at]);
    }
  return tables;
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_tensor_any_points(const MatrixFreeInputs& inputs) {
  const int m = static_cast<int>(inputs.points.size());
  CellData<T> data(inputs);
  if constexpr (d == 2) {
    using Cells = cuda::QuadrilateralCellsAnyPoints<T, n>;
    const Cells cells{basis_tables<T, n>(inputs), data.factors.data()};
    return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, 0, Cells::operations(m));
  } else {
    using Cells = cuda::HexahedronCellsAnyPoints<T, n>;
    const int at_once = Cells::most_cells_at_once(m);
    const Cells cells{basis_tables<T, n>(inputs), data.factors.data(), at_once};
    return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, at_once * Cells::room_size(m),
                                                       Cells::operations(m));
  }
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_tensor(const MatrixFreeInputs& inputs) {
  if (inputs.points.size() != n) return make_tensor_any_points<T, d, n>(inputs);
  switch (inputs.geometry) {
    case CellGeometry::affine:
      return make_tensor<T, d, n, CellGeometry::affine>(inputs);
    case CellGeometry::vertices:
      return make_tensor<T, d, n, CellGeometry::vertices>(inputs);
    case CellGeometry::stored:
      break;
  }
  return make_tensor<T, d, n, CellGeometry::stored>(inputs);
}

template <class T, int d, int n, CellGeometry kind>
std::unique_ptr<Operator<T>> make_simplex(const MatrixFreeInputs& inputs) {
  using Cells = std::conditional_t<warp_of_simplices(sizeof(T), n), cuda::WarpSimplices<d, n, kind>,
                                   cuda::SimplexCells<T, d, n, kind>>;
  CellData<T> data(inputs, Cells::laid_out(inputs.gradients, inputs.tables));
  const Cells cells{data.gradients.data(), inputs.tables, data.factors.data()};
  const std::int64_t operations = std::int64_t{inputs.tables} * (2 * d * n + d * d);
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, 0, operations);
}
template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_simplex(const MatrixFreeInputs& inputs) {
  return inputs.geometry == CellGeometry::affine ? make_simplex<T, d, n, CellGeometry::affine>(inputs)
                                                 : make_simplex<T, d, n, CellGeometry::stored>(inputs);
}

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_cuda(const MatrixFreeInputs& inputs) {
  const bool plane = inputs.factors.dimension == 2, simplex = inputs.tables > 0;
  switch (inputs.degree + (plane ? 0 : 4) + (simplex ? 8 : 0)) {
    case 1:
      return make_tensor<T, 2, 2>(inputs);
    case 2:
      return make_tensor<T, 2, 3>(inputs);
    case 3:
      return make_tensor<T, 2, 4>(inputs);
    case 4:
      return make_tensor<T, 2, 5>(inputs);
    case 5:
      return make_tensor<T, 3, 2>(inputs);
    case 6:
      return make_tensor<T, 3, 3>(inputs);
    case 7:
      return make_tensor<T, 3, 4>(inputs);
    case 8:
      return make_tensor<T, 3, 5>(inputs);
    case 9:
      return make_simplex<T, 2, 3>(inputs);
    case 10:
      return make_simplex<T, 2, 6>(inputs);
    case 11:
      return make_simplex<T, 2, 10>(inputs);
    case 12:
      return make_simplex<T, 2, 15>(inputs);
    case 13:
      return make_simplex<T, 3, 4>(inputs);
    case 14:
      return make_simplex<T, 3, 10>(inputs);
    case 15:
      return make_simplex<T, 3, 20>(inputs);
    default:
      return make_simplex<T, 3, 35>(inputs);
  }
}

template std::unique_ptr<Operator<double>> make_matrix_free_cuda(const MatrixFreeInputs&);
template std::unique_ptr<Operator<float>> make_matrix_free_cuda(const MatrixFreeInputs&);

}  // namespace femcg::operators

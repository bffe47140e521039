#include "operators/cellwise/matrix_free/cells/simplex_cells.cuh"
#include "operators/cellwise/matrix_free/cells/simplex_warp_cells.cuh"
#include "operators/cellwise/matrix_free/matrix_free_on_gpu.cuh"

namespace femcg::operators {

namespace {

template <int d, int n>
std::int64_t operations_of_cell(int tables) {
  return std::int64_t{tables} * (2 * d * n + d * d);
}

template <class T, int d, int n, CellGeometry kind>
using CellsOf = std::conditional_t<warp_of_simplices(n) && kind != CellGeometry::pairs,
                                   cuda::WarpSimplices<T, d, n, kind>, cuda::SimplexCells<T, d, n, kind>>;

template <class T, int d, int n, CellGeometry kind>
std::unique_ptr<Operator<T>> make_simplex(const MatrixFreeInputs& inputs) {
  using Cells = CellsOf<T, d, n, kind>;
  CellData<T> data(inputs, Cells::laid_out(inputs.gradients, inputs.tables));
  const Cells cells{data.gradients.data(), inputs.tables, data.factors.data(), data.class_of_slot()};
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, Cells::scratch_size,
                                                     operations_of_cell<d, n>(inputs.tables));
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_pairs(const MatrixFreeInputs& inputs) {
  using Cells = cuda::SimplexCells<T, d, n, CellGeometry::pairs>;
  CellData<T> data(inputs);
  const Cells cells{data.factors.data()};
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, Cells::scratch_size,
                                                     2 * pairs_of(n));
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_mixed(const MatrixFreeInputs& inputs) {
  constexpr bool pairs = fewer_pairs(d, n);
  using Others = CellsOf<T, d, n, pairs ? CellGeometry::pairs : CellGeometry::stored>;
  using Cells = cuda::MixedSimplices<T, CellsOf<T, d, n, CellGeometry::affine>, Others>;
  static_assert(Cells::Affine::wave == mixed_wave(n));
  const auto tables = [&] {
    if constexpr (!pairs) return Others::laid_out(inputs.gradients, inputs.tables);
    return std::vector<double>();
  };
  CellData<T> data(inputs, tables(), Cells::Affine::laid_out(inputs.affine_gradients, inputs.affine_tables));
  const auto others = [&]() -> Others {
    if constexpr (pairs)
      return {data.factors.data()};
    else
      return {data.gradients.data(), inputs.tables, data.factors.data(), nullptr};
  };
  const Cells cells{{data.affine_gradients.data(), inputs.affine_tables, data.affine_factors.data(), nullptr},
                    others(),
                    data.group_numbers.data()};
  const std::int64_t operations =
      (inputs.affine_slots * operations_of_cell<d, n>(inputs.affine_tables) +
       inputs.other_slots * (pairs ? 2 * pairs_of(n) : operations_of_cell<d, n>(inputs.tables))) /
      std::max<std::int64_t>(inputs.affine_slots + inputs.other_slots, 1);
  return std::make_unique<MatrixFreeOnGpu<T, Cells>>(inputs, std::move(data), cells, Cells::scratch_size, operations);
}

template <class T, int d, int n>
std::unique_ptr<Operator<T>> make_simplex(const MatrixFreeInputs& inputs) {
  switch (inputs.geometry) {
    case CellGeometry::affine:
      return make_simplex<T, d, n, CellGeometry::affine>(inputs);
    case CellGeometry::pairs:
      if constexpr (fewer_pairs(d, n)) return make_pairs<T, d, n>(inputs);
      break;
    case CellGeometry::mixed:
      if constexpr (n > d + 1) return make_mixed<T, d, n>(inputs);
      break;
    default:
      break;
  }
  return make_simplex<T, d, n, CellGeometry::stored>(inputs);
}

}  // namespace

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free_simplices(const MatrixFreeInputs& inputs) {
  switch (inputs.degree + (inputs.dimension == 2 ? 0 : 4)) {
    case 1:
      return make_simplex<T, 2, 3>(inputs);
    case 2:
      return make_simplex<T, 2, 6>(inputs);
    case 3:
      return make_simplex<T, 2, 10>(inputs);
    case 4:
      return make_simplex<T, 2, 15>(inputs);
    case 5:
      return make_simplex<T, 3, 4>(inputs);
    case 6:
      return make_simplex<T, 3, 10>(inputs);
    case 7:
      return make_simplex<T, 3, 20>(inputs);
    default:
      return make_simplex<T, 3, 35>(inputs);
  }
}

template std::unique_ptr<Operator<double>> make_matrix_free_simplices(const MatrixFreeInputs&);
template std::unique_ptr<Operator<float>> make_matrix_free_simplices(const MatrixFreeInputs&);

}  // namespace femcg::operators

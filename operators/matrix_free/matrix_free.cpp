// Stored: for each batch of cells the symmetric factors D_q = w_q |J| kappa J^-1 J^-T at the quadrature points, d (d +
// 1) / 2 words per point, or D_q / w_q once where all cells of the batch are affine with constant diffusion (not with
// geometry: stored); 16-bit places of the cells' unknowns in their block; alpha w |J| at the points of Robin facets. A
// product moves these and x and y once.

#include "operators/matrix_free/matrix_free.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>

#include "operators/cell_loops/patch_option.hpp"
#include "operators/matrix_free/matrix_free_inputs.hpp"
#include "operators/matrix_free/robin_facets.hpp"
#include "operators/matrix_free/simplex_kernel.hpp"
#include "operators/matrix_free/tensor_kernel.hpp"

namespace femcg::operators {

namespace {

/// D_q of all batches, or one set for those that need no more, unless all points are asked for.
template <std::floating_point T>
struct Factors {
  Factors(const BilinearForm& form, std::int32_t batches, bool all_points);

  bool constant(std::int32_t batch) const { return sizes[batch] == entries; }
  const Lanes<T>* of(std::int32_t batch) const { return values.data() + offsets[batch]; }

  int entries, points;
  std::vector<std::int64_t> offsets;  ///< of each batch in values
  std::vector<std::int32_t> sizes;    ///< entries, or points x entries
  Vector<Lanes<T>> values;
};

template <std::floating_point T>
Factors<T>::Factors(const BilinearForm& form, std::int32_t batches, bool all_points) : sizes(batches) {
  constexpr int lanes = CellBlocks<T>::lanes;
  const int d = form.space->mesh().dimension();
  entries = d * (d + 1) / 2;
  const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
  points = rule.size();
  std::vector<char> constant(form.cells());
  for_each_cell(
      form, [&](CellEvaluator& evaluator, std::int32_t cell) { constant[cell] = !all_points && evaluator.constant(); });
  std::int64_t total = 0;
  for (std::int32_t batch = 0; batch < batches; ++batch) {
    const auto begin = constant.begin() + batch * lanes,
               end = constant.begin() + std::min((batch + 1) * lanes, form.cells());
    sizes[batch] = std::all_of(begin, end, [](char c) { return c != 0; }) ? entries : points * entries;
    offsets.push_back(total);
    total += sizes[batch];
  }
  values = Vector<Lanes<T>>(total);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < total; ++k) values[k] = Lanes<T>{};
  for_each_cell(form, [&](CellEvaluator& evaluator, std::int32_t cell) {
    const std::int32_t batch = cell / lanes, lane = cell % lanes;
    Lanes<T>* to = values.data() + offsets[batch];
    const std::span<const double> from = evaluator.factors();
    for (int k = 0; k < sizes[batch]; ++k)
      to[k][lane] = static_cast<T>(sizes[batch] == entries ? from[k] / rule.weights[0] : from[k]);
  });
}

template <std::floating_point T, class Kernel>
class MatrixFree final : public Operator<T> {
 public:
  MatrixFree(const BilinearForm& form, bool all_points)
      : Operator<T>(form.unknowns, Device::host),
        form_(&form),
        kernel_(form.space->basis(), form.quadrature),
        blocks_(form, ConflictResolution::coloured),
        factors_(form, blocks_.batches(), all_points),
        robin_(form, blocks_) {}

  void diagonal(Vector<T>& d) const override {
    const Vector<double> exact = matrix_free_diagonal(*form_);
    for (std::int64_t i = 0; i < exact.size(); ++i) d[i] = static_cast<T>(exact[i]);
  }

  Footprint footprint() const override {
    const auto word = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t cells = std::int64_t{blocks_.batches()} * CellBlocks<T>::lanes;
    Footprint footprint;
    footprint.stored_bytes = blocks_.bytes() + factors_.values.bytes() + robin_.bytes() +
                             static_cast<std::int64_t>(factors_.offsets.size()) * 12;
    footprint.moved_bytes = footprint.stored_bytes + 2 * std::int64_t{this->size()} * word;
    footprint.effective_bytes = footprint.stored_bytes + 3 * cells * blocks_.dofs() * word;
    for (std::int32_t batch = 0; batch < blocks_.batches(); ++batch) {
      std::int64_t operations = 0;
      if constexpr (requires { kernel_.operations(true); })
        operations = kernel_.operations(factors_.constant(batch));
      else
        operations = kernel_.operations();
      footprint.flops += 2 * operations * CellBlocks<T>::lanes;
    }
    return footprint;
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    const std::int64_t scratch_size = kernel_.scratch_size();
    Vector<Lanes<T>> scratch(scratch_size * omp_get_max_threads());
    blocks_.product(
        x.data(), y.data(), energy != nullptr ? energy->data() : nullptr,
        [&](std::int32_t batch, const Lanes<T>* from, Lanes<T>* to) {
          kernel_(factors_.of(batch), factors_.constant(batch), from, to,
                  scratch.data() + scratch_size * omp_get_thread_num());
        },
        [&](std::int32_t block, const T* from, T* to) { return robin_.add(block, from, to); });
  }

  const BilinearForm* form_;
  Kernel kernel_;
  CellBlocks<T> blocks_;
  Factors<T> factors_;
  RobinFacets<T> robin_;
};

template <std::floating_point T, int D, int N>
std::unique_ptr<Operator<T>> make_tensor(const BilinearForm& form, bool all_points) {
  if (form.quadrature == N) return std::make_unique<MatrixFree<T, TensorKernel<T, D, N, N>>>(form, all_points);
  return std::make_unique<MatrixFree<T, TensorKernel<T, D, N, 0>>>(form, all_points);
}

template <std::floating_point T, int D>
std::unique_ptr<Operator<T>> make_tensor(const BilinearForm& form, bool all_points) {
  switch (form.space->degree()) {
    case 1:
      return make_tensor<T, D, 2>(form, all_points);
    case 2:
      return make_tensor<T, D, 3>(form, all_points);
    case 3:
      return make_tensor<T, D, 4>(form, all_points);
    case 4:
      return make_tensor<T, D, 5>(form, all_points);
    default:
      throw std::invalid_argument("matrix-free has degree 1 to 4");
  }
}

}  // namespace

std::span<const OptionDescription> matrix_free_options() {
  static constexpr std::array options{
      OptionDescription{"geometry", "auto|stored|vertices", "auto",
                        "the factors of all quadrature points or, on a GPU, from the cells' vertices where these tell "
                        "them; auto: as few as tell them",
                        [](std::string_view text) { return text == "auto" || text == "stored" || text == "vertices"; }},
      dedup_option, patch_option};
  return options;
}

template <std::floating_point T>
std::unique_ptr<Operator<T>> make_matrix_free(const Ingredients<T>& from, const Options& given) {
  const BilinearForm& form = *from.form;
  assert(form.quadrature > form.space->degree());  // fewer would not fix every mode; the case was checked
  const MatrixFreeChoice choice = chosen_matrix_free(form, from.device, given);
  if (from.device == Device::cuda) return make_matrix_free_cuda<T>(matrix_free_inputs(form, choice, sizeof(T)));
  const bool all_points = choice.geometry == "stored";
  switch (form.space->mesh().shape) {
    case mesh::CellShape::quadrilateral:
      return make_tensor<T, 2>(form, all_points);
    case mesh::CellShape::hexahedron:
      return make_tensor<T, 3>(form, all_points);
    case mesh::CellShape::triangle:
      return std::make_unique<MatrixFree<T, SimplexKernel<T, 2>>>(form, all_points);
    case mesh::CellShape::tetrahedron:
      break;
  }
  return std::make_unique<MatrixFree<T, SimplexKernel<T, 3>>>(form, all_points);
}

template std::unique_ptr<Operator<double>> make_matrix_free(const Ingredients<double>&, const Options&);
template std::unique_ptr<Operator<float>> make_matrix_free(const Ingredients<float>&, const Options&);

}  // namespace femcg::operators

// Stored: for each batch of cells the symmetric factors D_q = w_q |J| kappa J^-1 J^-T at the quadrature points, d (d +
// 1) / 2 words per point, or D_q / w_q once where all cells of the batch are affine with constant diffusion (not with
// geometry: stored); 16-bit places of the cells' unknowns in their block; alpha w |J| at the points of Robin facets. A
// product moves these and x and y once.

#include "operators/matrix_free/matrix_free.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <stdexcept>

#include "mesh/lagrange_basis.hpp"
#include "mesh/quadrature.hpp"
#include "operators/backend/parallel_rows.hpp"
#include "operators/cell_loops/patch_bytes.hpp"
#include "operators/cell_loops/patch_option.hpp"
#include "operators/forms/form_diagonal.hpp"
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
    const Vector<double> exact = diagonal_of_form(*form_);
    for_each_row(exact.size(), [&](std::int64_t i) { d[i] = static_cast<T>(exact[i]); });
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
    blocks_.product(x.data(), y.data(), energy != nullptr ? energy->data() : nullptr, kernel_.scratch_size(),
                    cell_products(), facet_products());
  }
  void multiply_columns(const Columns<T>& x, Columns<T>& y, double* energies) const override {
    blocks_.product(x, y, energies, kernel_.scratch_size(), cell_products(), facet_products());
  }
  auto cell_products() const {
    return [this](std::int32_t batch, const Lanes<T>* from, Lanes<T>* to, Lanes<T>* scratch) {
      kernel_(factors_.of(batch), factors_.constant(batch), from, to, scratch);
    };
  }
  auto facet_products() const {
    return [this](std::int32_t block, const T* from, T* to) { return robin_.add(block, from, to); };
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

constexpr std::array options{geometry_option, dedup_option, patch_option};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  const BilinearForm& form = *from.form;
  assert(form.quadrature > form.space->degree());  // fewer would not fix every mode; the case was checked
  const bool all_points = chosen_matrix_free(form, Device::host, given).geometry == "stored";
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

/// Of the factors of Robin facets.
template <std::floating_point T>
StoredArray robin_factors(const BilinearForm& form) {
  std::int64_t points = 0;
  for (const RobinFacet& facet : form.robin) points += static_cast<std::int64_t>(facet.transfer.size());
  return {"factors of Robin facets", points, 2 * points * std::int64_t{sizeof(T)}};
}

/// Multiply-adds a cell on a GPU, as the operators there count them (matrix_free_tensor.cuh, matrix_free_simplices.cu).
std::int64_t operations_on_gpu(const BilinearForm& form, CellGeometry geometry) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const std::int64_t d = form.space->mesh().dimension(), degree = form.space->degree(), n = degree + 1;
  const std::int64_t m = form.quadrature, dofs = form.dofs_per_cell();
  if (!mesh::is_tensor(shape)) {
    // Affine cells have a table for each polynomial of degree - 1, which is what the gradients are.
    const std::int64_t tables = geometry != CellGeometry::affine ? mesh::cell_quadrature(shape, form.quadrature).size()
                                : d == 2                         ? degree * (degree + 1) / 2
                                                                 : degree * (degree + 1) * (degree + 2) / 6;
    return tables * (2 * d * dofs + d * d);
  }
  if (any_points(form))
    return d == 2 ? 4 * m * n * (n + m) + 4 * m * m
                  : 4 * m * n * n * n + 6 * m * m * n * n + 6 * m * m * m * n + 9 * m * m * m;
  if (geometry == CellGeometry::boxes) return (3 * d - 2) * n * dofs;
  return 4 * d * n * dofs + (geometry == CellGeometry::vertices ? 3 : 1) * d * d * dofs;
}

/// Numbers a cell on a GPU.
std::int64_t words_on_gpu(const BilinearForm& form, CellGeometry geometry) {
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension();
  if (geometry == CellGeometry::boxes) return d;
  if (geometry == CellGeometry::vertices) return d == 2 ? straight_words<2> : straight_words<3>;
  const std::int64_t of_point = d * (d + 1) / 2;
  return geometry == CellGeometry::affine ? of_point
                                          : of_point * mesh::cell_quadrature(mesh.shape, form.quadrature).size();
}

template <std::floating_point T>
Footprint expected_product_on_gpu(const BilinearForm& form, const MatrixFreeChoice& choice, const PatchBytes& patches) {
  const CellGeometry geometry = expected_geometry(form, choice.dedup == Dedup::on ? "vertices" : choice.geometry);
  const bool once = geometry != CellGeometry::stored &&
                    (choice.dedup == Dedup::on || (choice.dedup == Dedup::automatic && has_identical_cells(form)));
  const std::int64_t of_cell =
      once ? std::int64_t{sizeof(std::uint16_t)} : words_on_gpu(form, geometry) * static_cast<std::int64_t>(sizeof(T));
  return footprint_of_cells<T>(
      form, form.cells(),
      patches.slots * of_cell + patches.lists + expected_interface(form) + robin_factors<T>(form).bytes,
      operations_on_gpu(form, geometry));
}

/// On the host the cells that are affine with one diffusion need the factors of one point: all or none, which is what
/// meshes have.
template <std::floating_point T>
Footprint expected_product_on_host(const BilinearForm& form, const MatrixFreeChoice& choice,
                                   const StorageEstimate& estimate) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const bool once = choice.geometry != "stored" && has_constant_factors(form);
  const std::int64_t d = form.space->mesh().dimension(), n = form.space->degree() + 1, q = form.quadrature;
  const std::int64_t points = mesh::cell_quadrature(shape, form.quadrature).size(), dofs = form.dofs_per_cell();
  std::int64_t operations = 0;  // as TensorKernel and SimplexKernel count them
  if (mesh::is_tensor(shape)) {
    const std::int64_t interpolation = d == 2 ? q * n * n + q * q * n : q * n * n * n + q * q * n * n + q * q * q * n;
    operations = 2 * interpolation + 2 * d * q * points + d * d * points;
  } else {
    operations = once ? dofs * (dofs + 1) / 2 * (d * (d + 1) / 2) + dofs * dofs : points * (2 * d * dofs + d * d);
  }
  return footprint_of_cells<T>(form, padded_cells<T>(form), estimate.stored() - (once ? estimate.slack : 0),
                               operations);
}

template <std::floating_point T>
StorageEstimate estimate_on_gpu(const BilinearForm& form, const MatrixFreeChoice& choice) {
  const PlaceLayout layout = matrix_free_patches(form, CellGeometry::stored, sizeof(T)).layout;
  const PatchBytes patches = bytes_of_patches(form, layout, ConflictResolution::gather, sizeof(T));
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension(), points = mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  const std::int64_t of_point = patches.slots * d * (d + 1) / 2 * static_cast<std::int64_t>(sizeof(T));
  StorageEstimate estimate;
  estimate.arrays = {{"factors at quadrature points", points * patches.slots, points * of_point},
                     {"places of dofs", patches.slots, patches.lists},
                     {"interface of patches", form.unknowns, patches.interface},
                     robin_factors<T>(form)};
  // Affine cells need the factors of one point, and identical ones hardly any.
  const bool surely_all = choice.geometry == "stored" || any_points(form), perhaps_once = choice.dedup != Dedup::off;
  estimate.slack = patches.interface + (surely_all ? 0 : (perhaps_once ? points : points - 1) * of_point);
  estimate.making = patches.geometry + patches.slots * std::int64_t{sizeof(std::int32_t)};
  estimate.making_on_host = estimate.making + patches.lists + patches.interface;
  if (form.robin.empty()) estimate.persistent = patches.resident;
  estimate.product = expected_product_on_gpu<T>(form, choice, patches);
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const BilinearForm& form = *of.form;
  const MatrixFreeChoice choice = chosen_matrix_free(form, of.device, given);
  if (of.device == Device::cuda) return estimate_on_gpu<T>(form, choice);
  const std::int64_t d = form.space->mesh().dimension(), entries = d * (d + 1) / 2;
  const std::int64_t points = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature).size();
  StorageEstimate estimate{.arrays = arrays_of_cells<T>(form, "factors at quadrature points", points * entries)};
  if (choice.geometry != "stored")
    estimate.slack = estimate.stored() - total_bytes(arrays_of_cells<T>(form, "factors", entries));
  estimate.arrays.push_back(robin_factors<T>(form));
  estimate.product = expected_product_on_host<T>(form, choice, estimate);
  return estimate;
}

}  // namespace

OperatorDescription matrix_free() {
  return {.name = "matrix-free",
          .stores = "no matrix: sum factorisation (tensor cells), reference matrices (simplices)",
          .source = "Orszag 1980; Lynch, Rice & Thomas 1964; Kronbichler & Kormann 2012",
          .needs = Needs::form,
          .cuda = true,
          .options = options,
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>},
          .host_gains_from_columns = false,
          .cuda_gains_from_columns = false};
}

}  // namespace femcg::operators

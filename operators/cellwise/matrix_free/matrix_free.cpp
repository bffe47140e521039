// Stored on the host, for each batch of cells: the symmetric factors D_q = w_q |J| kappa J^-1 J^-T at the quadrature
// points, d (d + 1) / 2 words per point; or one set if all cells of the batch are affine with constant diffusion, or
// have constant gradients; or, for few dofs, the entries of K_e for each pair of dofs, since rows sum to zero (not with
// geometry: stored). Besides 16-bit local indices of the cells' unknowns in their patch, and alpha w |J| at the points
// of Robin facets. A product moves these, and x and y once.

#include "operators/cellwise/matrix_free/matrix_free.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <stdexcept>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/capabilities.hpp"
#include "operators/cellwise/cell_loops/fused_cg.hpp"
#include "operators/cellwise/cell_loops/patch_batches.hpp"
#include "operators/cellwise/cell_loops/patch_bytes.hpp"
#include "operators/cellwise/cell_loops/patch_option.hpp"
#include "operators/cellwise/matrix_free/batch_factors.hpp"
#include "operators/cellwise/matrix_free/host/box_kernel.hpp"
#include "operators/cellwise/matrix_free/host/collocated_kernel.hpp"
#include "operators/cellwise/matrix_free/host/simplex_kernel.hpp"
#include "operators/cellwise/matrix_free/host/tensor_kernel.hpp"
#include "operators/cellwise/matrix_free/matrix_free_inputs.hpp"
#include "operators/cellwise/matrix_free/robin/robin_facets.hpp"
#include "operators/forms/check/form_diagonal.hpp"
#include "operators/forms/congruence_classes.hpp"

namespace femcg::operators {

namespace {

/// Kernels of tensor cells; boxes have a kernel of their own.
template <std::floating_point T, int D, int N, class Others>
class TensorKernels {
 public:
  TensorKernels(const mesh::LagrangeBasis& basis, int quadrature) : boxes_(quadrature), others_(basis, quadrature) {}
  std::int64_t scratch_size() const { return std::max(boxes_.scratch_size(), others_.scratch_size()); }
  std::int64_t operations(BatchGeometry geometry) const {
    return geometry == BatchGeometry::boxes ? boxes_.operations() : others_.operations();
  }
  void operator()(const Lanes<T>* factors, BatchGeometry geometry, const Lanes<T>* x, Lanes<T>* y,
                  Lanes<T>* scratch) const {
    if (geometry == BatchGeometry::boxes)
      boxes_(factors, x, y, scratch);
    else
      others_(factors, geometry == BatchGeometry::affine, x, y, scratch);
  }

 private:
  BoxKernel<T, D, N> boxes_;
  Others others_;
};

/// y_a = sum over b of w_ab (x_a - x_b), with one value w_ab per pair of dofs.
template <int dofs, std::floating_point T>
void multiply_pairs(const Lanes<T>* numbers, const Lanes<T>* x, Lanes<T>* y) {
  Lanes<T> of_x[dofs], sums[dofs];
  for (int a = 0; a < dofs; ++a) {
    of_x[a] = x[a];
    sums[a] = Lanes<T>{};
  }
#pragma GCC unroll 10
  for (int a = 0; a < dofs; ++a)
#pragma GCC unroll 10
    for (int b = a + 1; b < dofs; ++b) {
      const Lanes<T> flow = *numbers++ * (of_x[a] - of_x[b]);
      sums[a] += flow;
      sums[b] -= flow;
    }
  for (int a = 0; a < dofs; ++a) y[a] = sums[a];
}

/// Kernels of quadrilaterals and hexahedra of degree 1.
template <std::floating_point T, int D>
class PairKernels {
 public:
  PairKernels(const mesh::LagrangeBasis&, int) {}
  std::int64_t scratch_size() const { return 0; }
  std::int64_t operations(BatchGeometry) const { return 2 * pairs_of(dofs); }
  void operator()(const Lanes<T>* numbers, BatchGeometry, const Lanes<T>* x, Lanes<T>* y, Lanes<T>*) const {
    multiply_pairs<dofs, T>(numbers, x, y);
  }

 private:
  static constexpr int dofs = 1 << D;
};

/// Kernels of triangles and tetrahedra; those of degree 2 have pairs if they are not affine.
template <std::floating_point T, int D>
class SimplexKernels {
 public:
  SimplexKernels(const mesh::LagrangeBasis& basis, int quadrature) : kernel_(basis, quadrature) {}
  std::int64_t scratch_size() const { return kernel_.scratch_size(); }
  std::int64_t operations(BatchGeometry geometry) const {
    return geometry == BatchGeometry::pairs ? 2 * pairs_of(dofs_of_degree_2)
                                            : kernel_.operations(geometry != BatchGeometry::stored);
  }
  void operator()(const Lanes<T>* factors, BatchGeometry geometry, const Lanes<T>* x, Lanes<T>* y,
                  Lanes<T>* scratch) const {
    if (geometry == BatchGeometry::pairs)
      multiply_pairs<dofs_of_degree_2, T>(factors, x, y);
    else
      kernel_(factors, geometry != BatchGeometry::stored, x, y, scratch);
  }

 private:
  static constexpr int dofs_of_degree_2 = (D + 1) * (D + 2) / 2;
  SimplexKernel<T, D> kernel_;
};

template <std::floating_point T, class Kernels>
class MatrixFree final : public Operator<T>, public WithFusedCg<T> {
 public:
  MatrixFree(const BilinearForm& form, WantedFactors wanted)
      : Operator<T>(form.unknowns, Device::host),
        form_(&form),
        kernels_(form.space->basis(), form.quadrature),
        batches_(form),
        factors_(form, batches_, wanted),
        robin_(form, batches_) {}

  void diagonal(Vector<T>& d) const override {
    const Vector<double> exact = diagonal_of_form(*form_);
    for_each_row(exact.size(), [&](std::int64_t i) { d[i] = static_cast<T>(exact[ordering()[i]]); });
  }
  const Vector<std::int32_t>& ordering() const override { return batches_.ordering(); }

  Footprint footprint() const override {
    const auto word = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t cells = std::int64_t{batches_.batches()} * PatchBatches<T>::lanes;
    Footprint footprint;
    footprint.stored_bytes = batches_.bytes() + factors_.values.bytes() + robin_.bytes() +
                             static_cast<std::int64_t>(factors_.offsets.size()) * 9;
    footprint.moved_bytes = footprint.stored_bytes + 2 * std::int64_t{this->size()} * word;
    footprint.effective_bytes = footprint.stored_bytes + 3 * cells * batches_.dofs() * word;
    for (const BatchGeometry geometry : factors_.geometry)
      footprint.flops += 2 * kernels_.operations(geometry) * PatchBatches<T>::lanes;
    return footprint;
  }

  FusedSums fused_product(const FusedStep<T>& of) const override {
    return batches_.product(of, kernels_.scratch_size(), products());
  }

 private:
  void multiply(const Vector<T>& x, Vector<T>& y, Scalar* energy) const override {
    batches_.product(x.data(), y.data(), energy != nullptr ? energy->data() : nullptr, kernels_.scratch_size(),
                     products());
  }
  void multiply_multi_vector(const MultiVector<T>& x, MultiVector<T>& y, double* energies) const override {
    batches_.product(x, y, energies, kernels_.scratch_size(), products());
  }
  /// Adds the products of a patch's cells and Robin facets.
  typename PatchBatches<T>::PatchWork products() const {
    return [this](std::int32_t patch, const typename PatchBatches<T>::Buffers& buffers) {
      batches_.add_cells(patch, buffers, [this](std::int32_t batch, const Lanes<T>* x, Lanes<T>* y, Lanes<T>* scratch) {
        kernels_(factors_.of(batch), factors_.geometry[batch], x, y, scratch);
      });
      for (int c = 0; c < buffers.count; ++c)
        robin_.add(patch, buffers.x + c * buffers.room, buffers.y + c * buffers.room);
    };
  }

  const BilinearForm* form_;
  Kernels kernels_;
  PatchBatches<T> batches_;
  BatchFactors<T> factors_;
  RobinFacets<T> robin_;
};

template <std::floating_point T, int D, int N>
std::unique_ptr<Operator<T>> make_tensor(const BilinearForm& form, WantedFactors wanted) {
  if constexpr (N == 2)
    if (wanted.pairs) return std::make_unique<MatrixFree<T, PairKernels<T, D>>>(form, wanted);
  if (form.quadrature == N)
    return std::make_unique<MatrixFree<T, TensorKernels<T, D, N, CollocatedKernel<T, D, N>>>>(form, wanted);
  return std::make_unique<MatrixFree<T, TensorKernels<T, D, N, TensorKernel<T, D, N>>>>(form, wanted);
}

template <std::floating_point T, int D>
std::unique_ptr<Operator<T>> make_tensor(const BilinearForm& form, WantedFactors wanted) {
  switch (form.space->degree()) {
    case 1:
      return make_tensor<T, D, 2>(form, wanted);
    case 2:
      return make_tensor<T, D, 3>(form, wanted);
    case 3:
      return make_tensor<T, D, 4>(form, wanted);
    case 4:
      return make_tensor<T, D, 5>(form, wanted);
    default:
      throw std::invalid_argument("matrix-free has degree 1 to 4");
  }
}

constexpr const char* entries_of_cells = "entries of the cells' matrices";

constexpr std::array options{geometry_option, dedup_option, patch_option};

template <std::floating_point T>
std::unique_ptr<Operator<T>> make(const Ingredients<T>& from, const Options& given) {
  const BilinearForm& form = *from.form;
  assert(form.quadrature > form.space->degree());  // fewer would not fix every mode; the case was checked
  const bool all_points = chosen_matrix_free(form, Device::host, given).geometry == "stored";
  const WantedFactors wanted{all_points, !all_points && has_pairs(form)};
  switch (form.space->mesh().shape) {
    case mesh::CellShape::quadrilateral:
      return make_tensor<T, 2>(form, wanted);
    case mesh::CellShape::hexahedron:
      return make_tensor<T, 3>(form, wanted);
    case mesh::CellShape::triangle:
      return std::make_unique<MatrixFree<T, SimplexKernels<T, 2>>>(form, wanted);
    case mesh::CellShape::tetrahedron:
      break;
  }
  return std::make_unique<MatrixFree<T, SimplexKernels<T, 3>>>(form, wanted);
}

/// Storage of the factors of Robin facets.
template <std::floating_point T>
StoredArray robin_factors(const BilinearForm& form) {
  std::int64_t points = 0;
  for (const RobinFacet& facet : form.robin) points += static_cast<std::int64_t>(facet.transfer.size());
  return {"factors of Robin facets", points, 2 * points * std::int64_t{sizeof(T)}};
}

/// Upper bound of the memory of RobinOnGpu.
template <std::floating_point T>
StoredArray robin_on_gpu(const BilinearForm& form) {
  if (form.robin.empty()) return {"Robin facets", 0, 0};
  constexpr std::int64_t group = RobinTerms::group, word = sizeof(T), number = sizeof(std::int32_t);
  const std::int64_t facets = (std::ssize(form.robin) + group - 1) / group * group;
  const std::int64_t nodes = std::ssize(form.space->facet_nodes(0)), points = std::ssize(form.robin.front().transfer);
  // Per node a position and the facet's contribution, and a row if no other facet has the node.
  return {"Robin facets", facets, (facets + nodes) * points * word + facets * nodes * (5 * number + word)};
}

/// Multiply-adds per cell on a GPU, as counted by the operators there (matrix_free_tensor.cuh,
/// matrix_free_simplices.cu).
std::int64_t operations_on_gpu(const BilinearForm& form, CellGeometry geometry) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const std::int64_t d = form.space->mesh().dimension(), degree = form.space->degree(), n = degree + 1;
  const std::int64_t m = form.quadrature, dofs = form.dofs_per_cell();
  if (geometry == CellGeometry::pairs) return 2 * pairs_of(form.dofs_per_cell());
  if (!mesh::is_tensor(shape)) {
    // Affine cells have one table per polynomial of degree - 1, the space of the gradients.
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

/// Values per cell on a GPU.
std::int64_t words_on_gpu(const BilinearForm& form, CellGeometry geometry) {
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension();
  if (geometry == CellGeometry::boxes) return d;
  if (geometry == CellGeometry::pairs) return pairs_of(form.dofs_per_cell());
  if (geometry == CellGeometry::vertices) return d == 2 ? straight_words<2> : straight_words<3>;
  const std::int64_t of_point = d * (d + 1) / 2;
  return geometry == CellGeometry::affine ? of_point
                                          : of_point * mesh::cell_quadrature(mesh.shape, form.quadrature).size();
}

/// True if a GPU stores pairs of dofs for cells without smaller data.
bool expects_pairs(const BilinearForm& form, const MatrixFreeChoice& choice) {
  return choice.geometry != "stored" && fewer_pairs(form.space->mesh().dimension(), form.dofs_per_cell());
}

template <std::floating_point T>
Footprint expected_product_on_gpu(const BilinearForm& form, const MatrixFreeChoice& choice, const PatchBytes& patches) {
  const CellGeometry geometry = expected_geometry(form, choice.dedup == Dedup::on ? "vertices" : choice.geometry);
  const bool once = may_share(geometry) &&
                    (choice.dedup == Dedup::on ||
                     (choice.dedup == Dedup::automatic && has_congruent_cells(form, most_matrix_free_classes(form))));
  const double affine = geometry == CellGeometry::mixed ? expected_affine_share(form) : 0;
  const CellGeometry others = expects_pairs(form, choice) ? CellGeometry::pairs : CellGeometry::stored;
  // The mean over mixed cells.
  const auto a_cell = [&](const auto& count) -> std::int64_t {
    if (geometry != CellGeometry::mixed) return count(form, geometry);
    return std::llround(affine * static_cast<double>(count(form, CellGeometry::affine)) +
                        (1 - affine) * static_cast<double>(count(form, others)));
  };
  const std::int64_t of_cell =
      once ? std::int64_t{sizeof(std::uint16_t)} : a_cell(words_on_gpu) * static_cast<std::int64_t>(sizeof(T));
  return footprint_of_cells<T>(
      form, form.cells(),
      patches.slots * of_cell + patches.lists + expected_interface(form) + robin_on_gpu<T>(form).bytes,
      a_cell(operations_on_gpu));
}

template <std::floating_point T>
StorageEstimate estimate_on_gpu(const BilinearForm& form, const MatrixFreeChoice& choice) {
  const CellLayout layout = matrix_free_patches(form, CellGeometry::stored, sizeof(T)).layout;
  const PatchBytes patches = bytes_of_patches(form, layout, ConflictResolution::gather, sizeof(T));
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension(), points = mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  const std::int64_t of_point = d * (d + 1) / 2, word = sizeof(T);
  const bool pairs = expects_pairs(form, choice);
  const std::int64_t numbers = pairs ? pairs_of(form.dofs_per_cell()) : points * of_point;  // per cell, at most
  StorageEstimate estimate;
  estimate.arrays = {{pairs ? entries_of_cells : "factors at quadrature points", numbers * patches.slots,
                      numbers * patches.slots * word},
                     {"places of dofs", patches.slots, patches.lists},
                     {"interface of patches", form.unknowns, patches.interface},
                     robin_on_gpu<T>(form)};
  // Affine cells need the factors of one point, congruent ones almost none.
  const bool surely_all = choice.geometry == "stored" || any_points(form), perhaps_once = choice.dedup != Dedup::off;
  estimate.slack =
      patches.interface + (surely_all ? 0 : (perhaps_once ? numbers : numbers - of_point) * patches.slots * word);
  estimate.making = patches.geometry + patches.slots * std::int64_t{sizeof(std::int32_t)};
  estimate.making_on_host = estimate.making + patches.lists + patches.interface;
  if (form.robin.empty()) estimate.persistent = patches.persistent;
  estimate.product = expected_product_on_gpu<T>(form, choice, patches);
  return estimate;
}

/// Multiply-adds per cell on the host, as counted by its kernels.
std::int64_t operations_on_host(const BilinearForm& form, CellGeometry geometry) {
  const mesh::CellShape shape = form.space->mesh().shape;
  const std::int64_t d = form.space->mesh().dimension(), n = form.space->degree() + 1, q = form.quadrature;
  const std::int64_t points = mesh::cell_quadrature(shape, q).size(), dofs = form.dofs_per_cell();
  if (geometry == CellGeometry::pairs) return 2 * pairs_of(dofs);
  if (!mesh::is_tensor(shape))
    return is_affine(geometry) ? operations_of_affine_simplex(d, dofs) : points * (2 * d * dofs + d * d);
  if (geometry == CellGeometry::boxes) return 2 * d * dofs * ((n + 1) / 2) + d * dofs;
  if (q == n) return 4 * d * points * ((n + 1) / 2) + d * d * points;
  const std::int64_t interpolation = d == 2 ? q * n * n + q * q * n : q * n * n * n + q * q * n * n + q * q * q * n;
  return 2 * interpolation + 2 * d * q * points + d * d * points;
}

/// Estimate on the host. All or no cells are assumed to be affine with constant diffusion, as in most meshes.
template <std::floating_point T>
StorageEstimate estimate_on_host(const BilinearForm& form, const MatrixFreeChoice& choice) {
  constexpr std::int64_t word = sizeof(T), number = sizeof(std::int32_t);
  const mesh::Mesh& mesh = form.space->mesh();
  const std::int64_t d = mesh.dimension(), entries = d * (d + 1) / 2;
  const std::int64_t points = mesh::cell_quadrature(mesh.shape, form.quadrature).size();
  const std::int64_t cells = PatchBatches<T>::batches_of(form) * PatchBatches<T>::lanes;
  const bool pairs = choice.geometry != "stored" && has_pairs(form);
  const bool once =
      choice.geometry != "stored" && !pairs && (has_constant_gradients(form) || has_constant_factors(form));
  const std::int64_t numbers = pairs ? pairs_of(form.dofs_per_cell()) : points * entries;  // per cell, at most
  const std::int64_t local_indices = cells * form.dofs_per_cell();
  const PatchBytes patches = bytes_of_patches(form, CellLayout::cell_major, ConflictResolution::gather, word);
  StorageEstimate estimate;
  estimate.arrays = {
      {pairs ? entries_of_cells : "factors at quadrature points", cells * numbers, cells * numbers * word},
      {"places of dofs", local_indices, local_indices * std::int64_t{sizeof(std::uint16_t)}},
      {"cells and their unknowns in the order of patches", cells + form.unknowns, (cells + form.unknowns) * number},
      {"interface of patches", form.unknowns, patches.interface},
      robin_factors<T>(form)};
  // Factors are saved only if one point is known to be sufficient.
  const bool perhaps_one_set = choice.geometry != "stored" && !(pairs && mesh::is_tensor(mesh.shape));
  const std::int64_t spared = perhaps_one_set ? cells * (numbers - entries) * word : 0;
  estimate.slack = patches.interface + spared;
  // Drafts of the patches; then the sets of cells that may need one only, or the slot of each cell.
  estimate.making = std::max(2 * patches.lists + form.unknowns * 3 * number,
                             form.cells() * (entries + 2) * std::int64_t{sizeof(double)});
  estimate.product = footprint_of_cells<T>(
      form, cells, estimate.stored() - estimate.slack + expected_interface(form) + (once ? 0 : spared),
      operations_on_host(form,
                         once ? (mesh::is_tensor(mesh.shape) ? expected_geometry(form, "auto") : CellGeometry::affine)
                         : pairs ? CellGeometry::pairs
                                 : CellGeometry::stored));
  return estimate;
}

template <std::floating_point T>
StorageEstimate estimate(const Extent<T>& of, const Options& given) {
  const BilinearForm& form = *of.form;
  const MatrixFreeChoice choice = chosen_matrix_free(form, of.device, given);
  if (of.device == Device::cuda) return estimate_on_gpu<T>(form, choice);
  return estimate_on_host<T>(form, choice);
}

}  // namespace

OperatorDescription matrix_free() {
  return {.name = "matrix-free",
          .stores =
              "no matrix: sum factorisation (tensor cells), reference tables (simplices), or of cells of few dofs "
              "entries of K_e",
          .source = "Orszag 1980; Lynch, Rice & Thomas 1964; Kronbichler & Kormann 2012",
          .needs = Needs::form,
          .cuda = true,
          .options = options,
          .on_host = {make<double>, make<float>},
          .estimates = {estimate<double>, estimate<float>},
          .host_gains_from_multi_vectors = false,
          .cuda_gains_from_multi_vectors = false,
          .host_fuses_cg = true};
}

}  // namespace femcg::operators

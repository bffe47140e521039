#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mesh/base/dense_matrix.hpp"
#include "mesh/base/pages.hpp"
#include "operators/backend/vector.hpp"
#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The data of one cell of a form, computed on the fly: the definition of K_e.
///
///   K_e = sum_q B_q' D_q B_q + Robin terms,   D_q = w_q |J| kappa(x_q) J^-1 J^-T,   B_q = reference gradients at point
///   q
///
/// Keeps scratch memory: one evaluator a thread.
class CellEvaluator {
 public:
  explicit CellEvaluator(const BilinearForm& form);
  ~CellEvaluator();

  int dofs() const;
  int points() const;
  /// Moves to a cell and computes its geometry at the quadrature points. The diffusion is evaluated when D_q is needed.
  void move_to(std::int32_t cell);

  /// Symmetric D_q, [quadrature points][entries], the upper triangle row by row (2D: 00 01 11; 3D: 00 01 02 11 12 22).
  std::span<const double> factors() const;
  /// True if D_q / w_q is the same at all points up to rounding (affine cell, constant kappa).
  bool constant() const;
  /// Points in space, [count][3], and w_q |J|.
  std::span<const double> points_in_space() const;
  std::span<const double> measures() const;
  /// Basis values, [points][dofs].
  const mesh::DenseMatrix& values() const;

  /// The lower triangle of K_e, row by row: entry (i, j <= i) at i (i + 1) / 2 + j. Robin terms included.
  void matrix(std::span<double> packed);
  /// y = K_e x, directly from the quadrature without K_e. Robin terms included.
  void apply(std::span<const double> x, std::span<double> y);
  /// Diagonal of K_e. Robin terms included.
  void diagonal(std::span<double> d);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls work(evaluator, cell) for every cell, in parallel, with the evaluator moved there. Rethrows the exception of
/// the first failing cell afterwards; later cells may not have been visited.
void for_each_cell(const BilinearForm& form, const std::function<void(CellEvaluator&, std::int32_t)>& work);

/// The vector sum_c P_c' v_c of all dofs, where work(evaluator, cell, v_c) writes the vector of one cell. Parallel over
/// cells, summed in their order.
mesh::Array<double> sum_over_cells(const BilinearForm& form,
                                   const std::function<void(CellEvaluator&, std::int32_t, std::span<double>)>& work);

/// Writes the vectors of the cells [first, last), [cells][dofs]; or returns false if they are all zero.
using CellRangeWork = std::function<bool(std::int32_t first, std::int32_t last, double* values)>;

/// The same with vectors of several cells computed at a time; each thread calls `make` once.
mesh::Array<double> sum_over_cell_ranges(const mesh::FunctionSpace& space, const std::function<CellRangeWork()>& make);

/// Geometry and basis on one boundary facet at a time, at the form's quadrature points. Keeps scratch memory: one
/// evaluator a thread.
class FacetEvaluator {
 public:
  FacetEvaluator(const mesh::FunctionSpace& space, int quadrature);
  ~FacetEvaluator();

  void move_to(mesh::BoundaryFacet facet);
  int points() const;
  /// Points in space, [count][3]; weights times surface measure; outward unit normals, [count][3].
  std::span<const double> points_in_space() const;
  std::span<const double> measures() const;
  std::span<const double> normals() const;
  /// Basis values of all nodes of the cell at the points, [points][dofs].
  const mesh::DenseMatrix& values() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Calls work(evaluator, k) for all k < count, in parallel; work moves the evaluator. Exceptions as in for_each_cell.
void for_each_facet(const mesh::FunctionSpace& space, int quadrature, std::size_t count,
                    const std::function<void(FacetEvaluator&, std::size_t)>& work);

/// Writes the values of a density at the points of facet k, to which the evaluator has moved.
using FacetDensity = std::function<void(const FacetEvaluator&, std::size_t k, std::span<double> values)>;

/// Adds the integrals of a density times phi_i over facets to `of_dofs`, in the order of the facets. Exceptions as in
/// for_each_cell.
void add_facet_moments(const mesh::FunctionSpace& space, int quadrature, std::span<const mesh::BoundaryFacet> facets,
                       const FacetDensity& density, std::span<double> of_dofs);

/// K_e of every cell, in double precision, packed as in CellEvaluator::matrix, on one device.
struct ElementMatrices {
  int dofs = 0;
  Vector<double> values;               ///< [cells][dofs (dofs + 1) / 2]
  Vector<std::int32_t> unknowns = {};  ///< on a GPU: of the cells' dofs, [cells][dofs], negative if constrained

  Device device() const { return values.device(); }
  std::int64_t packed_size() const { return std::int64_t{dofs} * (dofs + 1) / 2; }
  /// K_e of a cell, on the host only.
  std::span<const double> cell(std::int32_t c) const {
    return {values.data() + c * packed_size(), static_cast<std::size_t>(packed_size())};
  }
};

/// Assembles all element matrices, in parallel.
ElementMatrices assemble_element_matrices(const BilinearForm& form);
/// The same on the GPU.
ElementMatrices cuda_element_matrices(const BilinearForm& form);

/// The unknowns of the dofs of all cells, [cells][dofs], on the host; negative if constrained.
Vector<std::int32_t> unknowns_of_cells(const BilinearForm& form);

/// K_e of the cells with Robin terms, on the host.
struct RobinMatrices {
  std::vector<std::int32_t> cells;  ///< ascending
  Vector<double> values;            ///< packed, cell after cell
};
RobinMatrices robin_matrices(const BilinearForm& form);

}  // namespace femcg::operators

// A number that undergoes n operations on its way into a result is multiplied by n factors 1 + delta, |delta| <= u. So
// a sum of products has an error of at most n u sum |products| to first order, where n is the largest number of
// operations on any of the products, in any order of summation (Higham 2002, chapter 3). First the products, then the
// operations.
//
// Products. K_c = sum_q B_q' D_q B_q. Operators multiply by the entries of K_c or of their sum, by B_q, D_q and B_q'
// one after the other, axis by axis by 1D tables, by 1D mass and stiffness matrices, or by the R of B = Q R. In every
// case the absolute values of all products that connect x_j with y_i sum up to t_i t_j at most, where
//
//   t_i = sum_a |f_ai| + |r_i|,   |f_ai|^2 = sum_q D_q,aa T_a(q, i)^2,   |r_i|^2 = sum over Robin points of w alpha
//   phi_i^2,
//
// since |D_ab|^2 <= D_aa D_bb, and by the Cauchy-Schwarz inequality for the sum over q (or over the rows of R, which
// has the column norms of B). T_a is |d_a phi_i| on simplices. On tensor cells it is, along axis a, |G| |V| with the
// values V of the basis at the Gauss points and the derivatives G of the Lagrange polynomials on these: evaluation
// through the Gauss points has products at least as large as V' = G V. The other axes contribute |V|. So the products
// of row i sum up to
//
//   t(x)_i = sum_c t_ci sum_j t_cj |x_j|.
//
// Operations. With n dofs and Q points a cell, d axes, m the larger of the nodes and the points of a line, and a dof
// that v cells share:
//   entries of A: one rounding of the entry, and the row's length at most, which is at most v n;
//   entries of K_c: 1 + n, and v for the sum over cells (2 v where patches of cells add theirs first);
//   tables of a cell: n to a point, d + 4 for D_q, its weight and their rounding, d Q back, 2 for the tables' rounding;
//   tables of a line: 2 (d + 1) (m + 1), and 2 d + 3 for D_q and the sum over axes, which is less;
//   Robin terms, with F points a facet: as the cell's, and F for each of at most d facets of each of the v cells.
// All are within
//
//   v (n + d F) + n + d (Q + 2) + 10,
//
// and within it are, in double precision, the reference (n to a point, Q + d back) and the assembly of K_c (2 d + Q).
//
// Data. The tables of a line have at most 5 m operations an entry, of which 2 (d + 1) meet in a product; a QR
// factorisation is good to the product of its dimensions, Q d n (Higham 2002, section 19.3). D_q = w |J| kappa J^-1
// J^-T is relative to sqrt(D_aa D_bb) off by
//   3 eta                      where |dJ| |J^-1| <= eta u: twice by J^-1, whose rows v_a become v_a - v_a dJ J^-1, once
//   by
//                              |J|;
//   12 k^2 + 17 k + 10         with the condition k = |J| |J^-1| (Frobenius): a row of cofactors is a cross product, 4
//   k
//                              off since the sine between columns is 1 / k at least; |J|, a column times such a row, k
//                              (4 k + 3); then two rows, |J|, and ten multiplications and additions.
// A tensor kappa makes it w |J| J^-1 kappa J^-T, with 2 d multiplications and additions more; both parts are then
// multiplied by the condition of kappa, since |v_a| |kappa| |v_b| <= cond(kappa) sqrt(v_a kappa v_a' v_b kappa v_b').
// J = sum_a X_a (d psi_a)' has one operation for each of its nodes, and operators may take nodes for equal that differ
// by 32 u of the largest coordinate X of the mesh (congruence_classes.cpp): eta = d (nodes + 32) X sum_a |d psi_a|
// |J^-1|. Where a GPU computes J of straight-sided tensor cells in the working precision, it does so from the
// coefficients C of the multilinear map, each a rounded difference of vertices, with at most 8 operations: eta = 8 d
// sum |C| |J^-1|. Such errors of data are there twice, in the operator and in the reference.
#include "solver/benchmark/product_rounding.hpp"

#include <omp.h>
#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "mesh/base/pages.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/forms/element_matrices.hpp"

namespace femcg::solver {

using operators::BilinearForm;
using operators::CellEvaluator;

namespace {

/// |d(i, m)|: derivatives of the Lagrange polynomials on `points` at the same points, the diagonal without
/// cancellation: sum over j of 1 / |x_i - x_j|.
Eigen::MatrixXd absolute_derivatives(const Eigen::VectorXd& points) {
  Eigen::MatrixXd derivatives = mesh::line_derivatives(points, points).cwiseAbs();
  for (Eigen::Index i = 0; i < points.size(); ++i) {
    derivatives(i, i) = 0;
    for (Eigen::Index j = 0; j < points.size(); ++j)
      if (j != i) derivatives(i, i) += 1 / std::abs(points[i] - points[j]);
  }
  return derivatives;
}

/// T_a of every axis, points x dofs.
std::vector<Eigen::MatrixXd> absolute_gradients(const BilinearForm& form) {
  const mesh::LagrangeBasis& basis = form.space->basis();
  const mesh::Quadrature rule = mesh::cell_quadrature(basis.shape(), form.quadrature);
  std::vector<Eigen::MatrixXd> gradients = basis.gradients(rule.points);
  for (Eigen::MatrixXd& along : gradients) along = along.cwiseAbs().eval();
  if (!mesh::is_tensor(basis.shape())) return gradients;
  const Eigen::VectorXd points = mesh::gauss_line(form.quadrature).points.row(0).transpose(),
                        nodes = mesh::gauss_lobatto_points(basis.degree() + 1);
  const Eigen::MatrixXd values = mesh::line_values(nodes, points).cwiseAbs(),
                        derivatives = absolute_derivatives(points) * values;
  const auto d = static_cast<int>(gradients.size());
  for (int axis = 0; axis < d; ++axis)
    for (int q = 0; q < rule.size(); ++q)
      for (int i = 0; i < basis.size(); ++i) {
        double product = 1;
        for (int along = 0, rest = q; along < d; ++along, rest /= form.quadrature)
          product *= (along == axis ? derivatives : values)(rest % form.quadrature, basis.lattice().index(i)[along]);
        gradients[axis](q, i) = std::max(gradients[axis](q, i), product);
      }
  return gradients;
}

/// Largest sum_a |d psi_a| over the points and axes.
double sum_of_gradients(const mesh::GeometryTables& tables) {
  double largest = 0;
  for (const Eigen::MatrixXd& along : tables.gradients)
    largest = std::max(largest, along.cwiseAbs().rowwise().sum().maxCoeff());
  return largest;
}

/// Number of cells that share each dof.
std::vector<std::int32_t> cells_of_dofs(const mesh::FunctionSpace& space) {
  std::vector<std::int32_t> cells(static_cast<std::size_t>(space.dof_count()), 0);
  for (std::int32_t cell = 0; cell < space.mesh().cell_count(); ++cell)
    for (const std::int32_t dof : space.dofs(cell)) ++cells[static_cast<std::size_t>(dof)];
  return cells;
}

/// Data that all cells share.
struct Common {
  explicit Common(const BilinearForm& of)
      : form(&of),
        rule(mesh::cell_quadrature(of.space->mesh().shape, of.quadrature)),
        gradients(absolute_gradients(of)),
        geometry(of.space->mesh(), rule.points),
        geometry_gradients(sum_of_gradients(geometry)),
        largest_coordinate(mesh::extent_of(of.space->mesh()).largest_coordinate()),
        cells(cells_of_dofs(*of.space)) {}

  const mesh::Mesh& mesh() const { return form->space->mesh(); }
  double d() const { return mesh().dimension(); }
  double n() const { return form->dofs_per_cell(); }

  const BilinearForm* form;
  mesh::Quadrature rule;
  std::vector<Eigen::MatrixXd> gradients;  ///< T_a
  mesh::GeometryTables geometry;
  double geometry_gradients;
  double largest_coordinate;
  std::vector<std::int32_t> cells;  ///< number of cells that share each dof
};

/// Rounding of one cell after the other. Has scratch memory: one per thread.
class CellRounding {
 public:
  explicit CellRounding(const Common& common)
      : common_(&common),
        geometry_(common.geometry),
        facets_(*common.form->space, common.form->quadrature),
        terms_(common.form->dofs_per_cell()),
        robin_(common.form->dofs_per_cell()) {}

  /// Moves to the cell of an evaluator.
  void move_to(std::int32_t cell, const CellEvaluator& at);
  /// t_i of every dof.
  const Eigen::VectorXd& terms() const { return terms_; }
  /// Operations that a product undergoes, in units of the working precision and of double precision.
  double working() const;
  double data() const;

 private:
  void add_robin_terms();
  void find_condition_of_diffusion();
  double operations() const;
  double operations_of_tables() const;
  double coefficients() const;
  double error_of_factors(double error_of_jacobian) const;

  const Common* common_;
  mesh::CellGeometry geometry_;
  operators::FacetEvaluator facets_;
  std::int32_t cell_ = 0;
  Eigen::VectorXd terms_, robin_;
  double condition_ = 0, inverse_ = 0;  ///< largest |J| |J^-1| and |J^-1| over the points
  double condition_of_diffusion_ = 1;   ///< upper bound, over the points
  std::vector<double> diffusion_;
};

void CellRounding::move_to(std::int32_t cell, const CellEvaluator& at) {
  cell_ = cell;
  const auto d = static_cast<int>(common_->gradients.size());
  const int entries = d * (d + 1) / 2;
  terms_.setZero();
  for (int axis = 0, entry = 0; axis < d; entry += d - axis, ++axis) {
    const Eigen::Map<const Eigen::VectorXd, 0, Eigen::InnerStride<>> factors(
        at.factors().data() + entry, common_->rule.size(), Eigen::InnerStride<>(entries));
    terms_ += (common_->gradients[axis].array().square().matrix().transpose() * factors).cwiseSqrt();
  }
  add_robin_terms();
  geometry_.move_to(common_->mesh(), cell);
  condition_ = inverse_ = 0;
  for (int q = 0; q < geometry_.points(); ++q) {
    double inverse[9];
    geometry_.inverse(q, inverse);
    const auto norm = [d](const double* m) { return Eigen::Map<const Eigen::VectorXd>(m, d * d).norm(); };
    inverse_ = std::max(inverse_, norm(inverse));
    condition_ = std::max(condition_, norm(inverse) * norm(geometry_.jacobian(q)));
  }
  find_condition_of_diffusion();
}

/// Bounds the condition of kappa by its trace over its least eigenvalue.
void CellRounding::find_condition_of_diffusion() {
  const operators::Diffusion& diffusion = common_->form->diffusion;
  if (!diffusion.is_tensor()) return;
  diffusion_.resize(static_cast<std::size_t>(geometry_.points() * diffusion.entries));
  diffusion.evaluate(cell_, geometry_.all_points(), diffusion_);
  condition_of_diffusion_ = 1;
  for (int q = 0; q < geometry_.points(); ++q) {
    const double* const values = &diffusion_[static_cast<std::size_t>(q * diffusion.entries)];
    double trace = 0;
    for (int axis = 0; axis < common_->mesh().dimension(); ++axis)
      trace += operators::along_axis(values, diffusion.entries, axis);
    condition_of_diffusion_ =
        std::max(condition_of_diffusion_, trace / operators::least_eigenvalue(values, diffusion.entries));
  }
}

void CellRounding::add_robin_terms() {
  const std::vector<operators::RobinFacet>& all = common_->form->robin;
  auto facet = std::ranges::lower_bound(all, cell_, {}, &operators::RobinFacet::cell);
  if (facet == all.end() || facet->cell != cell_) return;
  robin_.setZero();
  for (; facet != all.end() && facet->cell == cell_; ++facet) {
    facets_.move_to({facet->cell, facet->facet});
    for (int q = 0; q < facets_.points(); ++q)
      robin_ += std::abs(facet->transfer[q]) * facets_.measures()[q] *
                facets_.values().row(q).transpose().array().square().matrix();
  }
  terms_ += robin_.cwiseSqrt();
}

/// Operations of the dof of the cell that is shared by most cells.
double CellRounding::operations() const {
  const BilinearForm& form = *common_->form;
  std::int32_t most = 0;
  for (const std::int32_t dof : form.space->dofs(cell_)) most = std::max(most, common_->cells[dof]);
  const double n = common_->n(), d = common_->d();
  const double facet_points = form.robin.empty() ? 0 : static_cast<double>(form.robin[0].transfer.size());
  return most * (n + d * facet_points) + n + d * (common_->rule.size() + 2) + 10;
}

double CellRounding::operations_of_tables() const {
  const BilinearForm& form = *common_->form;
  if (mesh::is_tensor(common_->mesh().shape))
    return 10 * (common_->d() + 1) * std::max(form.space->degree() + 1, form.quadrature);
  return common_->rule.size() * common_->d() * common_->n();
}

/// Largest sum of |C| over the axes.
double CellRounding::coefficients() const {
  const mesh::Mesh& mesh = common_->mesh();
  const int d = mesh.dimension(), vertices = mesh.nodes_per_cell();
  double largest = 0;
  for (int axis = 0; axis < d; ++axis) {
    std::array<double, 8> c{};
    for (int v = 0; v < vertices; ++v) c[v] = mesh.point(mesh.nodes(cell_)[v])[axis];
    for (int bit = 1; bit < vertices; bit *= 2)
      for (int v = 0; v < vertices; ++v)
        if (v & bit) c[v] -= c[v ^ bit];
    double sum = 0;
    for (int v = 1; v < vertices; ++v) sum += std::abs(c[v]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Error of D_q if each entry of J has this error.
double CellRounding::error_of_factors(double error_of_jacobian) const {
  const double of_tensor = common_->form->diffusion.is_tensor() ? 2 * common_->d() : 0;
  return condition_of_diffusion_ *
         (3 * common_->d() * error_of_jacobian * inverse_ + (12 * condition_ + 17) * condition_ + 10 + of_tensor);
}

double CellRounding::working() const {
  const bool computed = common_->mesh().order == 1 && mesh::is_tensor(common_->mesh().shape);
  return operations() + (computed ? error_of_factors(8 * coefficients()) : 0);
}

double CellRounding::data() const {
  constexpr double equal_nodes = 32;
  const double error_of_nodes = (common_->mesh().nodes_per_cell() + equal_nodes) * common_->largest_coordinate;
  return 2 * (operations() + operations_of_tables() + error_of_factors(error_of_nodes * common_->geometry_gradients));
}

/// Operations of every cell, in both units.
struct CellOperations {
  explicit CellOperations(std::int32_t cells) : working(cells), data(cells) {}
  std::vector<double> working, data;
};

/// For every dof i, sum_c t_ci sum_j t_cj |x_j|; also computes the operations of each cell.
mesh::Array<double> sum_terms(const Common& common, std::span<const double> x, CellOperations& operations) {
  const BilinearForm& form = *common.form;
  std::vector<std::unique_ptr<CellRounding>> of_threads(static_cast<std::size_t>(omp_get_max_threads()));
  return operators::sum_over_cells(form, [&](CellEvaluator& at, std::int32_t cell, std::span<double> y) {
    std::unique_ptr<CellRounding>& rounding = of_threads[static_cast<std::size_t>(omp_get_thread_num())];
    if (!rounding) rounding = std::make_unique<CellRounding>(common);
    rounding->move_to(cell, at);
    operations.working[cell] = rounding->working();
    operations.data[cell] = rounding->data();
    const Eigen::VectorXd& t = rounding->terms();
    double sum = 0;
    form.for_nodes(cell, [&](int j, std::int32_t unknown) {
      if (unknown >= 0) sum += t[j] * std::abs(x[unknown]);
    });
    for (Eigen::Index i = 0; i < t.size(); ++i) y[i] = t[i] * sum;
  });
}

}  // namespace

double ProductRounding::bound(std::size_t i, double unit_roundoff) const {
  constexpr double of_double = std::numeric_limits<double>::epsilon() / 2;
  return terms[i] * (unit_roundoff * working[i] + of_double * data[i]);
}

/// A row has the largest operation count of its cells.
ProductRounding rounding_of_product(const BilinearForm& form, std::span<const double> x) {
  CellOperations of_cells(form.cells());
  const mesh::Array<double> of_dofs = sum_terms(Common(form), x, of_cells);
  const auto unknowns = static_cast<std::size_t>(form.unknowns);
  ProductRounding rounding{mesh::filled<double>(unknowns), mesh::filled<double>(unknowns),
                           mesh::filled<double>(unknowns)};
  for (std::size_t dof = 0; dof < of_dofs.size(); ++dof)
    if (const std::int32_t i = form.unknown_of_dof[dof]; i >= 0) rounding.terms[i] = of_dofs[dof];
  for (std::int32_t cell = 0; cell < form.cells(); ++cell)
    form.for_unknowns(cell, [&](std::int32_t i) {
      rounding.working[i] = std::max(rounding.working[i], of_cells.working[cell]);
      rounding.data[i] = std::max(rounding.data[i], of_cells.data[cell]);
    });
  return rounding;
}

/// An entry is rounded to the working precision, and its product with x_j undergoes as many operations as the row has
/// entries. The reference is rounded once, after summing the row in long double.
ProductRounding rounding_of_product(const operators::CsrMatrix<double>& matrix, std::span<const double> x) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  constexpr double long_double =
      std::numeric_limits<long double>::epsilon() / static_cast<long double>(std::numeric_limits<double>::epsilon());
  ProductRounding rounding{std::vector<double>(rows), std::vector<double>(rows), std::vector<double>(rows)};
#pragma omp parallel for schedule(static)
  for (std::int32_t row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      sum += std::abs(matrix.values[k] * x[matrix.columns[k]]);
    const auto length = static_cast<double>(matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
    rounding.terms[row] = sum;
    rounding.working[row] = 1 + length;
    rounding.data[row] = 1 + length * long_double;
  }
  return rounding;
}

}  // namespace femcg::solver

#include "operators/forms/element_matrices.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "mesh/base/first_failure.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "mesh/geometry.hpp"
#include "operators/backend/threads/parallel_rows.hpp"
#include "operators/forms/cells_at_points.hpp"

namespace femcg::operators {

namespace {

/// Reference matrices R_ab = sum_q w_q (d_a phi)(d_b phi)', a <= b, the off-diagonal ones symmetrised: for constant D_q
/// / w_q, K_e = sum_ab D_ab R_ab. Packed lower triangles, one column each.
Eigen::MatrixXd reference_matrices(const std::vector<Eigen::MatrixXd>& gradients, const Eigen::VectorXd& weights) {
  const int d = static_cast<int>(gradients.size());
  const Eigen::Index n = gradients[0].cols();
  Eigen::MatrixXd packed(n * (n + 1) / 2, d * (d + 1) / 2);
  for (int a = 0, column = 0; a < d; ++a)
    for (int b = a; b < d; ++b, ++column) {
      Eigen::MatrixXd matrix = gradients[a].transpose() * weights.asDiagonal() * gradients[b];
      if (a != b) matrix += matrix.transpose().eval();
      for (Eigen::Index i = 0, entry = 0; i < n; ++i)
        for (Eigen::Index j = 0; j <= i; ++j, ++entry) packed(entry, column) = matrix(i, j);
    }
  return packed;
}

}  // namespace

struct CellEvaluator::State {
  explicit State(const BilinearForm& bilinear_form)
      : form(&bilinear_form),
        mesh(&form->space->mesh()),
        rule(mesh::cell_quadrature(mesh->shape, form->quadrature)),
        tables(*mesh, rule.points),
        geometry(tables),
        facet_evaluator(*form->space, form->quadrature),
        d(mesh->dimension()),
        n(form->dofs_per_cell()),
        entries(d * (d + 1) / 2),
        values(form->space->basis().values(rule.points)),
        gradients(form->space->basis().gradients(rule.points)),
        reference(reference_matrices(gradients, rule.weights)),
        inverse_weights(rule.weights.cwiseInverse()),
        diffusion(rule.size() * form->diffusion.entries),
        measures(rule.size()),
        factors(rule.size() * entries) {
    for (const Eigen::MatrixXd& gradient : gradients) gradients_of_points.emplace_back(gradient.transpose());
    reference_diagonal.resize(n, entries);
    for (Eigen::Index i = 0; i < n; ++i) reference_diagonal.row(i) = reference.row(i * (i + 1) / 2 + i);
  }

  void require_factors();
  template <int d>
  void compute_factors();
  bool is_constant();
  bool factors_constant() const;
  /// The Robin facets of the current cell.
  std::span<const RobinFacet> robin() const;
  template <class Add>
  void for_each_robin_point(Add add);
  void apply(const Eigen::Map<const Eigen::VectorXd>& x, Eigen::Map<Eigen::VectorXd>& y);

  const BilinearForm* form;
  const mesh::Mesh* mesh;
  mesh::Quadrature rule;
  mesh::GeometryTables tables;
  mesh::CellGeometry geometry;
  FacetEvaluator facet_evaluator;
  int d, n, entries;
  Eigen::MatrixXd values;
  std::vector<Eigen::MatrixXd> gradients;
  std::vector<Eigen::MatrixXd> gradients_of_points;  ///< dofs x points
  Eigen::MatrixXd reference, reference_diagonal;
  Eigen::VectorXd inverse_weights;
  std::vector<double> diffusion, measures, factors;
  bool has_factors = false;      ///< of the current cell
  std::optional<bool> constant;  ///< of the current cell, once known
  std::int32_t cell = -1;
  Eigen::MatrixXd product, scaled, dense;
};

void CellEvaluator::State::require_factors() {
  if (has_factors) return;
  form->diffusion.evaluate(cell, geometry.all_points(), diffusion);
  d == 2 ? compute_factors<2>() : compute_factors<3>();
  has_factors = true;
}

bool CellEvaluator::State::is_constant() {
  require_factors();
  if (!constant) constant = factors_constant();
  return *constant;
}

template <int d>
void CellEvaluator::State::compute_factors() {
  for (int q = 0; q < rule.size(); ++q) {
    double inverse[9];
    geometry.inverse(q, inverse);
    double* entry = factors.data() + q * entries;
    if (form->diffusion.is_tensor()) {
      transform_tensor<d>(inverse, diffusion.data() + q * entries, entry);
      for (int e = 0; e < entries; ++e) entry[e] *= measures[q];
      continue;
    }
    for (int a = 0; a < d; ++a)
      for (int b = a; b < d; ++b) {
        double sum = 0;
        for (int k = 0; k < d; ++k) sum += inverse[a * d + k] * inverse[b * d + k];
        *entry++ = measures[q] * diffusion[q] * sum;
      }
  }
}

bool CellEvaluator::State::factors_constant() const {
  double largest = 0;
  for (int e = 0; e < entries; ++e) largest = std::max(largest, std::abs(factors[e] * inverse_weights[0]));
  for (int q = 1; q < rule.size(); ++q)
    for (int e = 0; e < entries; ++e)
      if (std::abs(factors[q * entries + e] * inverse_weights[q] - factors[e] * inverse_weights[0]) > 1e-13 * largest)
        return false;
  return true;
}

std::span<const RobinFacet> CellEvaluator::State::robin() const {
  const auto less = [](const RobinFacet& facet, std::int32_t c) { return facet.cell < c; };
  const auto begin = std::lower_bound(form->robin.begin(), form->robin.end(), cell, less);
  auto end = begin;
  while (end != form->robin.end() && end->cell == cell) ++end;
  return {begin, end};
}

/// Calls add(weight, basis values row) for every Robin point of the cell: its term is weight phi phi'.
template <class Add>
void CellEvaluator::State::for_each_robin_point(Add add) {
  for (const RobinFacet& term : robin()) {
    facet_evaluator.move_to({term.cell, term.facet});
    for (int q = 0; q < facet_evaluator.points(); ++q)
      add(term.transfer[q] * facet_evaluator.measures()[q], facet_evaluator.values().row(q));
  }
}

CellEvaluator::CellEvaluator(const BilinearForm& form) : state_(std::make_unique<State>(form)) {}
CellEvaluator::~CellEvaluator() = default;

int CellEvaluator::dofs() const { return state_->n; }
int CellEvaluator::points() const { return state_->rule.size(); }

void CellEvaluator::move_to(std::int32_t cell) {
  State& s = *state_;
  s.cell = cell;
  s.geometry.move_to(*s.mesh, cell);
  for (int q = 0; q < s.rule.size(); ++q) {
    s.measures[q] = s.rule.weights[q] * s.geometry.determinant(q);
    if (s.mesh->axisymmetric) s.measures[q] *= 2 * std::numbers::pi * s.geometry.all_points()[3 * q];
  }
  s.has_factors = false;
  s.constant.reset();
}

std::span<const double> CellEvaluator::factors() const {
  state_->require_factors();
  return state_->factors;
}
bool CellEvaluator::constant() const { return state_->is_constant(); }
std::span<const double> CellEvaluator::points_in_space() const { return state_->geometry.all_points(); }
std::span<const double> CellEvaluator::measures() const { return state_->measures; }
const Eigen::MatrixXd& CellEvaluator::values() const { return state_->values; }

void CellEvaluator::matrix(std::span<double> packed) {
  State& s = *state_;
  Eigen::Map<Eigen::VectorXd> lower(packed.data(), static_cast<Eigen::Index>(packed.size()));
  if (s.is_constant()) {
    const Eigen::Map<const Eigen::VectorXd> first(s.factors.data(), s.entries);
    lower.noalias() = s.reference * (first / s.rule.weights[0]);
  } else {
    // K = sum_a G_a' (sum_b D_ab G_b)
    s.dense.setZero(s.n, s.n);
    s.scaled.resize(s.rule.size(), s.n);
    for (int a = 0; a < s.d; ++a) {
      s.scaled.setZero();
      for (int b = 0; b < s.d; ++b) {
        const int entry = a <= b ? a * s.d - a * (a - 1) / 2 + b - a : b * s.d - b * (b - 1) / 2 + a - b;
        const Eigen::Map<const Eigen::VectorXd, 0, Eigen::InnerStride<>> along(s.factors.data() + entry, s.rule.size(),
                                                                               Eigen::InnerStride<>(s.entries));
        s.scaled.noalias() += along.asDiagonal() * s.gradients[b];
      }
      s.dense.triangularView<Eigen::Lower>() += s.gradients[a].transpose() * s.scaled;
    }
    for (Eigen::Index i = 0, entry = 0; i < s.n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j, ++entry) lower[entry] = s.dense(i, j);
  }
  s.for_each_robin_point([&](double weight, const auto& phi) {
    for (Eigen::Index i = 0, entry = 0; i < s.n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j, ++entry) lower[entry] += weight * phi[i] * phi[j];
  });
}

/// y = sum_q B_q' D_q B_q x.
void CellEvaluator::State::apply(const Eigen::Map<const Eigen::VectorXd>& x, Eigen::Map<Eigen::VectorXd>& y) {
  product.resize(rule.size(), d);
  for (int a = 0; a < d; ++a) product.col(a).noalias() = gradients[a] * x;
  for (int q = 0; q < rule.size(); ++q) {
    const double* f = factors.data() + q * entries;
    const double g0 = product(q, 0), g1 = product(q, 1), g2 = d == 3 ? product(q, 2) : 0;
    if (d == 2) {
      product(q, 0) = f[0] * g0 + f[1] * g1;
      product(q, 1) = f[1] * g0 + f[2] * g1;
    } else {
      product(q, 0) = f[0] * g0 + f[1] * g1 + f[2] * g2;
      product(q, 1) = f[1] * g0 + f[3] * g1 + f[4] * g2;
      product(q, 2) = f[2] * g0 + f[4] * g1 + f[5] * g2;
    }
  }
  y.setZero();
  for (int a = 0; a < d; ++a) y.noalias() += gradients[a].transpose() * product.col(a);
}

void CellEvaluator::apply(std::span<const double> x, std::span<double> y) {
  State& s = *state_;
  s.require_factors();
  const Eigen::Map<const Eigen::VectorXd> from(x.data(), s.n);
  Eigen::Map<Eigen::VectorXd> to(y.data(), s.n);
  s.apply(from, to);
  s.for_each_robin_point(
      [&](double weight, const auto& phi) { to += weight * phi.dot(from.transpose()) * phi.transpose(); });
}

void CellEvaluator::diagonal(std::span<double> diagonal) {
  State& s = *state_;
  Eigen::Map<Eigen::ArrayXd> d(diagonal.data(), s.n);
  if (s.is_constant()) {
    const Eigen::Map<const Eigen::VectorXd> first(s.factors.data(), s.entries);
    d = (s.reference_diagonal * (first * s.inverse_weights[0])).array();
  } else {
    d.setZero();
    for (int q = 0; q < s.rule.size(); ++q) {
      const double* f = s.factors.data() + q * s.entries;
      const auto along = [&](int axis) { return s.gradients_of_points[axis].col(q).array(); };
      if (s.d == 2)
        d += along(0) * (f[0] * along(0) + 2 * f[1] * along(1)) + f[2] * along(1).square();
      else
        d += along(0) * (f[0] * along(0) + 2 * (f[1] * along(1) + f[2] * along(2))) +
             along(1) * (f[3] * along(1) + 2 * f[4] * along(2)) + f[5] * along(2).square();
    }
  }
  s.for_each_robin_point([&](double weight, const auto& phi) { d += weight * phi.transpose().array().square(); });
}

namespace {

/// Writes K_e of cells one by one, or of several affine ones with constant diffusion at a time: sum_ab D_ab R_ab, one
/// cell a lane. Keeps scratch memory: one object a thread.
class MatrixWriter {
 public:
  MatrixWriter(const BilinearForm& form, ElementMatrices& to)
      : form_(&form), to_(&to), evaluator_(form), factors_(form), sums_(static_cast<std::size_t>(to.packed_size())) {
    const mesh::Quadrature rule = mesh::cell_quadrature(form.space->mesh().shape, form.quadrature);
    reference_ = reference_matrices(form.space->basis().gradients(rule.points), rule.weights) / rule.weights[0];
  }

  void write(std::int32_t first, std::int32_t last) {
    if (form_->diffusion.constant) factors_.move_to(first, last - first);
    if (!form_->diffusion.constant || !factors_.constant()) {
      for (std::int32_t cell = first; cell < last; ++cell) write(cell);
      return;
    }
    std::ranges::fill(sums_, CellLanes{});
    for (Eigen::Index entry = 0; entry < reference_.cols(); ++entry) {
      const CellLanes factor = factors_.factors()[static_cast<std::size_t>(entry * factors_.points())];
      for (std::size_t k = 0; k < sums_.size(); ++k)
        sums_[k] += reference_(static_cast<Eigen::Index>(k), entry) * factor;
    }
    for (std::int32_t cell = first; cell < last; ++cell) {
      double* const to = to_->values.data() + cell * to_->packed_size();
      for (std::size_t k = 0; k < sums_.size(); ++k) to[k] = sums_[k][cell - first];
    }
    const auto before = [](const RobinFacet& facet, std::int32_t cell) { return facet.cell < cell; };
    for (auto facet = std::lower_bound(form_->robin.begin(), form_->robin.end(), first, before);
         facet != form_->robin.end() && facet->cell < last; ++facet)
      write(facet->cell);
  }

 private:
  void write(std::int32_t cell) {
    evaluator_.move_to(cell);
    evaluator_.matrix({to_->values.data() + cell * to_->packed_size(), sums_.size()});
  }

  const BilinearForm* form_;
  ElementMatrices* to_;
  CellEvaluator evaluator_;
  FactorsAtPoints factors_;
  Eigen::MatrixXd reference_;  ///< divided by the first weight
  std::vector<CellLanes> sums_;
};

}  // namespace

ElementMatrices assemble_element_matrices(const BilinearForm& form) {
  ElementMatrices matrices{form.dofs_per_cell(), {}, {}};
  matrices.values = Vector<double>(form.cells() * matrices.packed_size());
  mesh::parallel_for(
      lane_groups(form.cells()), [&] { return MatrixWriter(form, matrices); },
      [&](MatrixWriter& writer, std::int32_t group) {
        const std::int32_t first = group * cell_lanes;
        writer.write(first, std::min<std::int32_t>(first + cell_lanes, form.cells()));
      });
  return matrices;
}

Vector<std::int32_t> unknowns_of_cells(const BilinearForm& form) {
  const int n = form.dofs_per_cell();
  Vector<std::int32_t> unknowns(std::int64_t{form.cells()} * n);
  for_each_row(form.cells(), [&](std::int64_t cell) {
    form.for_nodes(static_cast<std::int32_t>(cell),
                   [&](int a, std::int32_t unknown) { unknowns[cell * n + a] = unknown; });
  });
  return unknowns;
}

RobinMatrices robin_matrices(const BilinearForm& form) {
  RobinMatrices robin;
  for (const RobinFacet& facet : form.robin)
    if (robin.cells.empty() || robin.cells.back() != facet.cell) robin.cells.push_back(facet.cell);
  const std::int64_t packed = std::int64_t{form.dofs_per_cell()} * (form.dofs_per_cell() + 1) / 2;
  robin.values = Vector<double>(std::ssize(robin.cells) * packed);
  mesh::parallel_for(
      std::ssize(robin.cells), [&] { return CellEvaluator(form); },
      [&](CellEvaluator& evaluator, std::int64_t k) {
        evaluator.move_to(robin.cells[k]);
        evaluator.matrix({robin.values.data() + k * packed, static_cast<std::size_t>(packed)});
      });
  return robin;
}

void for_each_cell(const BilinearForm& form, const std::function<void(CellEvaluator&, std::int32_t)>& work) {
  mesh::parallel_for(
      form.cells(), [&] { return CellEvaluator(form); },
      [&](CellEvaluator& evaluator, std::int32_t cell) {
        evaluator.move_to(cell);
        work(evaluator, cell);
      });
}

}  // namespace femcg::operators

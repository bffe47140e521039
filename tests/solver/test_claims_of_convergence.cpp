// Solutions that `run` calls converged have an error of at most ten times the tolerance, with every preconditioner,
// recurrence and precision, in problems where |b - A u| / |b| says nothing about the error. The reference is a direct
// solution in long double of the same problem without its offset.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mesh/box/box.hpp"
#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/progress.hpp"
#include "solver/problem/problem.hpp"
#include "solver/run/discretisation.hpp"
#include "solver/run/run_solve.hpp"
#include "tests/problems.hpp"

using namespace femcg;
using mesh::CellShape;
using solver::BoundaryKind;
using solver::CgLoop;
using solver::CgMethod;
using solver::Precision;
using solver::StopReason;

namespace {

using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using Numbers = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// kappa du/dn = transfer (value - u) on a side; transfer 0: u = value.
struct Side {
  std::string group;
  std::string value;
  double transfer = 0;
};

struct Claim {
  std::string name;
  std::string diffusion, source;
  std::vector<Side> sides;
  double offset = 0;  ///< constant that is added to all values
  double tolerance = 1e-8;
  int bodies = 1;  ///< number of bodies, side by side; the sides of body k are k_left, k_right, ...
  mesh::BoxOptions box{CellShape::quadrilateral, {7, 6, 1}, {1, 1, 1}, 0.1};
  int degree = 2;
};

/// Problem of a claim; `second` subtracts 1 from the source (a second load).
solver::ProblemData data_of(const Claim& claim, double offset, bool second) {
  solver::ProblemData data = tests::make_case(claim.degree, claim.diffusion, claim.source).problem;
  for (const Side& side : claim.sides) {
    const std::string value = fmt::format("{:.17g} + ({})", offset, side.value);
    data.boundary.push_back(side.transfer > 0
                                ? tests::transfer_on(side.group, fmt::format("{:.17g}", side.transfer), value)
                                : tests::value_on(side.group, value));
  }
  if (!second) return data;
  data.loads = {{"first", data.source, data.boundary},
                {"second", tests::field(fmt::format("({}) - 1", claim.source)), data.boundary}};
  return data;
}

mesh::Mesh mesh_of(const Claim& claim) {
  const mesh::Mesh one = mesh::make_box(claim.box);
  if (claim.bodies == 1) return one;
  mesh::Mesh all = one;
  all.coordinates.clear();
  all.cell_nodes.clear();
  all.cell_regions.clear();
  all.boundaries.clear();
  for (int body = 0; body < claim.bodies; ++body) {
    for (std::size_t i = 0; i < one.coordinates.size(); ++i)
      all.coordinates.push_back(one.coordinates[i] + (i % 2 == 0 ? 2.0 * body : 0));
    for (const std::int32_t node : one.cell_nodes) all.cell_nodes.push_back(node + body * one.node_count());
    for (const mesh::BoundaryGroup& group : one.boundaries) {
      all.boundaries.push_back({fmt::format("{}_{}", body, group.name), group.facets});
      for (mesh::BoundaryFacet& facet : all.boundaries.back().facets) facet.cell += body * one.cell_count();
    }
  }
  all.cell_regions.assign(static_cast<std::size_t>(claim.bodies * one.cell_count()), 0);
  return all;
}

/// Exact discrete solutions of a problem without offset, and their energies.
class Truth {
 public:
  explicit Truth(const solver::Problem& problem) : problem_(&problem), n_(problem.form().space->dof_count()) {
    assemble();
    std::vector<int> unknowns;
    for (int dof = 0; dof < n_; ++dof)
      if (problem.form().unknown_of_dof[dof] >= 0) unknowns.push_back(dof);
    const auto free = static_cast<Eigen::Index>(unknowns.size());
    Matrix a(free, free);
    for (Eigen::Index i = 0; i < free; ++i)
      for (Eigen::Index j = 0; j < free; ++j) a(i, j) = matrix_(unknowns[i], unknowns[j]);
    const Eigen::LLT<Matrix> factor(a);
    for (const solver::Load& load : problem.loads()) {
      Numbers known = Numbers::Zero(n_), b(free);
      for (std::size_t k = 0; k < load.boundary_values().size(); ++k)
        known[problem.dirichlet_dofs()[k].dof] = load.boundary_values()[k];
      const Numbers forces = load_of(load) - matrix_ * known;
      for (Eigen::Index i = 0; i < free; ++i) b[i] = forces[unknowns[i]];
      Numbers x = factor.solve(b);
      x += factor.solve(b - a * x);
      for (Eigen::Index i = 0; i < free; ++i) known[unknowns[i]] = x[i];
      balance(load, known);
      solutions_.push_back(known);
      find_energies(load, known);
    }
  }

  /// Energy norm of the error of `dofs`, less the part that rounding u to double explains, relative to the energy norm
  /// of the solution and in units of the tolerance; the maximum over all bodies.
  double error(std::size_t load, const std::vector<double>& dofs, double offset, double tolerance) const {
    const Numbers& u = solutions_[load];
    Numbers e(n_);
    std::vector<double> errors(count()), rounding(count());
    for (int i = 0; i < n_; ++i) {
      e[i] = static_cast<long double>(dofs[i]) - offset - u[i];
      const double last_digits = 4 * std::numeric_limits<double>::epsilon() * std::abs(dofs[i]);
      rounding[body_[i]] += static_cast<double>(matrix_(i, i)) * last_digits * last_digits;
    }
    const Numbers forces = matrix_ * e;
    for (int i = 0; i < n_; ++i) errors[body_[i]] += static_cast<double>(e[i] * forces[i]);
    double worst = 0;
    for (std::size_t k = 0; k < count(); ++k) {
      const double beyond = std::sqrt(std::max(0.0, errors[k])) - std::sqrt(rounding[k]);
      if (beyond > 0) worst = std::max(worst, beyond / std::sqrt(energies_[load][k]) / tolerance);
    }
    return worst;
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(problem_->components()); }

  /// Assembles K, from gradients that are exactly 0 for constants, plus the Robin terms. K_e in double precision would
  /// not suffice: where the diffusion jumps within a cell, its rounding error exceeds the energy of some functions.
  void assemble() {
    operators::BilinearForm form = problem_->form();
    form.robin.clear();
    matrix_ = Matrix::Zero(n_, n_);
    body_.assign(static_cast<std::size_t>(n_), 0);
    operators::CellEvaluator evaluator(form);
    const mesh::Mesh& mesh = form.space->mesh();
    const auto in_double = form.space->basis().gradients(mesh::cell_quadrature(mesh.shape, form.quadrature).points);
    const int d = mesh.dimension(), n = evaluator.dofs(), points = evaluator.points();
    std::vector<Matrix> gradients;
    for (const Eigen::MatrixXd& gradient : in_double) {
      gradients.emplace_back(gradient.cast<long double>());
      gradients.back().col(0) -= gradients.back().rowwise().sum();
    }
    for (std::int32_t cell = 0; cell < form.cells(); ++cell) {
      evaluator.move_to(cell);
      const std::span<const double> factors = evaluator.factors();
      Matrix k = Matrix::Zero(n, n);
      for (int a = 0, at = 0; a < d; ++a)
        for (int b = a; b < d; ++b, ++at) {
          Numbers factor(points);
          for (int q = 0; q < points; ++q) factor[q] = factors[q * (d * (d + 1) / 2) + at];
          const Matrix part = gradients[a].transpose() * factor.asDiagonal() * gradients[b];
          k += part;
          if (a != b) k += part.transpose();
        }
      const auto dofs = form.space->dofs(cell);
      for (int i = 0; i < n; ++i) {
        if (count() > 1) body_[dofs[i]] = problem_->component_of_cell()[cell];
        for (int j = 0; j < n; ++j) matrix_(dofs[i], dofs[j]) += k(i, j);
      }
    }
    for_robin([&](int i, int j, long double entry, const auto&) { matrix_(i, j) += entry; });
  }
  /// Calls work(i, j, integral of transfer phi_i phi_j at a point, the point) for every pair of nodes and every point.
  template <class Work>
  void for_robin(const Work& work) const {
    const operators::BilinearForm& form = problem_->form();
    operators::FacetEvaluator facet(*form.space, form.quadrature);
    for (const operators::RobinFacet& robin : form.robin) {
      facet.move_to({robin.cell, robin.facet});
      const auto dofs = form.space->dofs(robin.cell);
      for (int q = 0; q < facet.points(); ++q)
        for (const int i : form.space->facet_nodes(robin.facet))
          for (const int j : form.space->facet_nodes(robin.facet))
            work(dofs[i], dofs[j],
                 static_cast<long double>(robin.transfer[q]) * facet.measures()[q] * facet.values()(q, i) *
                     facet.values()(q, j),
                 facet.points_in_space().subspan(3 * static_cast<std::size_t>(q), 3));
    }
  }
  /// Load vector of the source and of the ambient values.
  Numbers load_of(const solver::Load& load) const {
    Numbers b = Numbers::Zero(n_);
    operators::CellEvaluator evaluator(problem_->form());
    std::vector<double> source(static_cast<std::size_t>(evaluator.points()));
    for (std::int32_t cell = 0; cell < problem_->form().cells(); ++cell) {
      evaluator.move_to(cell);
      load.source().everywhere->evaluate(evaluator.points_in_space(), source);
      const auto dofs = problem_->form().space->dofs(cell);
      for (int q = 0; q < evaluator.points(); ++q)
        for (int i = 0; i < evaluator.dofs(); ++i)
          b[dofs[i]] += static_cast<long double>(evaluator.measures()[q]) * source[q] * evaluator.values()(q, i);
    }
    for_robin_points(load, [&](const operators::FacetEvaluator& facet, int q, double transfer, double ambient,
                               std::span<const std::int32_t> dofs, const std::vector<int>& nodes) {
      for (const int i : nodes)
        b[dofs[i]] += static_cast<long double>(transfer) * facet.measures()[q] * ambient * facet.values()(q, i);
    });
    return b;
  }
  /// Calls work(facet, q, transfer, ambient, dofs of the cell, nodes of the facet) for every point of facets with
  /// transfer.
  template <class Work>
  void for_robin_points(const solver::Load& load, const Work& work) const {
    std::size_t k = 0;
    operators::FacetEvaluator facet(*problem_->form().space, problem_->form().quadrature);
    for (const solver::ConditionedFacet& at : problem_->boundary()) {
      if (at.insulated() || at.kind != BoundaryKind::transfer) continue;
      const operators::RobinFacet& robin = problem_->form().robin[k++];
      facet.move_to(at.facet);
      std::vector<double> ambient(static_cast<std::size_t>(facet.points()));
      load.boundary()[at.condition].ambient.evaluate(facet.points_in_space(), ambient);
      for (int q = 0; q < facet.points(); ++q)
        work(facet, q, robin.transfer[q], ambient[q], problem_->form().space->dofs(robin.cell),
             problem_->form().space->facet_nodes(robin.facet));
    }
  }
  /// Adds the constant that balances the heat of every body held by transfer alone; factorisation in long double does
  /// not determine this constant accurately enough.
  void balance(const solver::Load& load, Numbers& u) const {
    std::vector<long double> heat(count()), transfer(count());
    std::vector<char> has_values(count());
    for (const solver::DirichletDof& dof : problem_->dirichlet_dofs()) has_values[body_[dof.dof]] = 1;
    for (int dof = 0; dof < n_; ++dof)
      if (const std::int32_t i = problem_->form().unknown_of_dof[dof]; i >= 0) heat[body_[dof]] += load.values()[i];
    for_robin([&](int i, int j, long double entry, const auto&) {
      heat[body_[i]] -= entry * u[j];
      transfer[body_[i]] += entry;
    });
    for (int dof = 0; dof < n_; ++dof)
      if (has_values[body_[dof]] == 0) u[dof] += heat[body_[dof]] / transfer[body_[dof]];
  }
  /// Integral of kappa |grad u|^2 + integral of transfer (u - ambient)^2, with linear ambient values.
  void find_energies(const solver::Load& load, const Numbers& u) {
    std::vector<double> energies(count());
    Numbers forces = matrix_ * u;
    for_robin([&](int i, int j, long double entry, const auto&) { forces[i] -= entry * u[j]; });
    for (int i = 0; i < n_; ++i) energies[body_[i]] += static_cast<double>(u[i] * forces[i]);
    for_robin_points(load, [&](const operators::FacetEvaluator& facet, int q, double transfer, double ambient,
                               std::span<const std::int32_t> dofs, const std::vector<int>& nodes) {
      long double beyond = -ambient;
      for (const int a : nodes) beyond += facet.values()(q, a) * u[dofs[a]];
      energies[body_[dofs[0]]] += static_cast<double>(transfer * facet.measures()[q] * beyond * beyond);
    });
    energies_.push_back(energies);
  }

  const solver::Problem* problem_;
  int n_;
  Matrix matrix_;
  std::vector<std::int32_t> body_;  ///< body of each dof
  std::vector<Numbers> solutions_;
  std::vector<std::vector<double>> energies_;  ///< [load][body]
};

/// Solver settings of one run.
struct Way {
  std::string preconditioner;
  CgMethod method = CgMethod::classic;
  CgLoop loop = CgLoop::launched;
  Precision precision = Precision::double_;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const Precision precision : {Precision::double_, Precision::single})
    for (const char* preconditioner : {"jacobi", "none", "chebyshev", "multigrid"}) {
      for (const CgMethod method : {CgMethod::classic, CgMethod::batched, CgMethod::block})
        if (method != CgMethod::block || preconditioner != std::string("multigrid"))
          ways.push_back({preconditioner, method, CgLoop::launched, precision});
      if (preconditioner == std::string("chebyshev") || preconditioner == std::string("multigrid")) continue;
      ways.push_back({preconditioner, CgMethod::single_reduction, CgLoop::launched, precision});
      ways.push_back({preconditioner, CgMethod::pipelined, CgLoop::launched, precision});
      ways.push_back({preconditioner, CgMethod::classic, CgLoop::fused, precision});
    }
  for (const char* preconditioner : {"jacobi", "multigrid"})
    ways.push_back({preconditioner, CgMethod::classic, CgLoop::launched, Precision::mixed});
  return ways;
}

std::vector<Claim> claims() {
  std::vector<Claim> all;
  const std::vector<Side> slope{{"left", "0"}, {"right", "1"}}, cold{{"left", "0"}, {"right", "0"}};
  for (const double offset : {293.15, 1e4, 1e6, 1e8}) {
    all.push_back({"slope", "1", "0", slope, offset});
    all.push_back({"small source", "1", "0.001", cold, offset});
  }
  for (const double transfer : {1e2, 1e6, 1e10, 1e14}) {
    all.push_back({"penalty, one value", "1", "1", {{"left", "0", transfer}}, 5});
    all.push_back({"penalty, two values", "1", "0", {{"left", "0", transfer}, {"right", "1", transfer}}, 5});
  }
  const std::string two = "(abs(x - 0.25) < 0.125 || abs(x - 0.75) < 0.125) && abs(y - 0.5) < 0.17";
  const mesh::BoxOptions aligned{CellShape::quadrilateral, {8, 6, 1}, {1, 1, 1}, 0.0};
  for (const double jump : {1e4, 1e8, 1e10, 1e12}) {
    all.push_back({"halves", fmt::format("x < 0.5 ? 1 : {:.17g}", jump), "1", slope, 300});
    all.push_back({"inclusions", fmt::format("{} ? {:.17g} : 1", two, jump), "0", slope, 300, 1e-8, 1, aligned});
    all.push_back(
        {"inclusions, loosely", fmt::format("{} ? {:.17g} : 1", two, jump), "0", slope, 300, 1e-4, 1, aligned});
  }
  // Jumps along bands one cell thick and jumps within cells, where some functions have almost no energy.
  const std::vector<Side> warm{{"left", "0"}, {"right", "1"}, {"top", "0.5", 1e-3}};
  const mesh::BoxOptions oblique{CellShape::triangle, {7, 5, 1}, {1, 1, 1}, 0.1};
  for (const double jump : {1e8, 1e10, 1e12})
    for (const char* where : {"sin(8*pi*x)*sin(6*pi*y)", "sin(8*pi*x)", "sin(9*pi*(x + 0.3*y))"}) {
      if (jump == 1e10 && where != std::string("sin(8*pi*x)*sin(6*pi*y)")) continue;
      const std::string diffusion = fmt::format("{} > 0 ? {:.17g} : 1", where, jump);
      all.push_back({"jumps between cells", diffusion, "0", slope, 20, 1e-8, 1, aligned});
      all.push_back({"jumps within cells", diffusion, "1", warm, 0, 1e-6, 1, oblique, 3});
    }
  all.push_back({"slopes within cells", "1e12^(0.5 + 0.5*sin(5*pi*x)*sin(4*pi*y))", "1", warm, 0, 1e-6, 1, oblique, 3});
  for (const double transfer : {1e-2, 1e-6, 1e-10, 1e-12})
    all.push_back({"small transfer", "1", "cos(pi*x)", {{"left", "0", transfer}}, 20});
  all.push_back({"small transfer that carries heat", "1", "1", {{"left", "0", 1e-8}}, 20});
  for (const double thickness : {1e-2, 1e-4, 1e-6}) {
    all.push_back({"thin", "1", "0", slope, 20, 1e-8, 1, {CellShape::tetrahedron, {2, 2, 2}, {1, 1, thickness}, 0.0}});
    all.push_back(
        {"flat", "1", "1", slope, 0, 1e-8, 1, {CellShape::quadrilateral, {8, 4, 1}, {1, thickness, 1}, 0.0}, 3});
  }
  const mesh::BoxOptions small{CellShape::triangle, {5, 4, 1}, {1, 1, 1}, 0.0};
  for (const double less : {1e-6, 1e-12}) {
    const std::string value = fmt::format("{:.17g}", less);
    all.push_back({"bodies with values",
                   "1",
                   "0",
                   {{"0_left", "0"}, {"0_right", "1"}, {"1_left", "0"}, {"1_right", value}},
                   0,
                   1e-8,
                   2,
                   small});
    all.push_back({"bodies with sources",
                   "1",
                   fmt::format("x < 1.5 ? 1 : {}", value),
                   {{"0_left", "0", 1e3}, {"1_left", "0"}, {"2_right", "0", 1e-3}},
                   0,
                   1e-8,
                   3,
                   small});
  }
  return all;
}

}  // namespace

TEST_CASE("what is called converged is right to ten times the tolerance") {
  const std::vector<Claim> all = claims();
  const std::vector<Way> ways = all_ways();
  CHECK(all.size() >= 40);
  int by_jacobi = 0;
  solver::Progress progress(false);
  const solver::StopRequested stop = [] { return false; };
  const solver::RunContext context{operators::Communicator::alone(), progress, stop};
  for (const Claim& claim : all) {
    CAPTURE(claim.name);
    CAPTURE(claim.diffusion);
    CAPTURE(claim.offset);
    CAPTURE(claim.sides.front().transfer);
    CAPTURE(claim.box.size[2]);
    solver::CachedParts kept;
    kept.part = std::make_unique<const mesh::MeshPart>(mesh::MeshPart{mesh_of(claim), {}, {}});
    kept.space = std::make_unique<const mesh::FunctionSpace>(kept.part->mesh, claim.degree);
    kept.shared = std::make_unique<const operators::SharedDofs>();
    const solver::ProblemData plain = data_of(claim, 0, true);
    const solver::Problem without_offset(plain, *kept.space);
    const Truth truth(without_offset);
    for (const bool several : {false, true}) {
      kept.discrete = std::make_shared<const solver::DiscreteProblem>(data_of(claim, claim.offset, several),
                                                                      *kept.space, *kept.shared);
      for (const Way& way : ways) {
        if (takes_several(way.method) != several) continue;
        CAPTURE(way.preconditioner);
        CAPTURE(name(way.method));
        CAPTURE(name(way.loop));
        CAPTURE(name(way.precision));
        solver::Case resolved;
        resolved.solver.op.name = way.loop == CgLoop::fused ? "matrix-free" : "csr";
        resolved.solver.preconditioner.name = way.preconditioner;
        resolved.solver.precision = way.precision;
        resolved.solver.tolerance = claim.tolerance;
        resolved.solver.max_iterations = 1500;
        resolved.solver.method = way.method;
        resolved.solver.loop = way.loop;
        resolved.solver.tune = solver::Tune::off;
        solver::Record record = solver::begun_run(resolved);
        record.problem.unknowns = kept.discrete->problem.form().unknowns;
        solver::Solved solved;
        try {
          solved = solver::solve({resolved.solver, resolved.mesh, resolved.distribution, {}}, kept, context, record);
        } catch (const solver::InputError& error) {  // single precision cannot represent the matrix
          CHECK_MESSAGE(way.precision != Precision::double_, error.what());
          continue;
        }
        if (way.preconditioner == "jacobi" && way.method == CgMethod::classic && way.loop == CgLoop::launched &&
            way.precision == Precision::double_ && record.solve.reason == StopReason::converged)
          ++by_jacobi;
        for (std::size_t load = 0; load < solved.solutions.size(); ++load) {
          const solver::CgResult& result = several ? record.loads[load].solve : record.solve;
          if (result.reason != StopReason::converged) continue;
          CHECK(truth.error(load, solved.solutions[load], claim.offset, claim.tolerance) <= 10);
        }
      }
    }
  }
  CHECK(by_jacobi >= 30);
}

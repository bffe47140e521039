#include "solver/measures/boundary_flux.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "mesh/base/first_failure.hpp"
#include "mesh/base/pages.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/forms/cells_at_vertices.hpp"
#include "operators/forms/check/form_product.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/measures/cell_gradient.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

namespace {

bool has_value(const ConditionedFacet& facet) { return !facet.insulated() && facet.kind == BoundaryKind::value; }

std::vector<GradientTables> tables_of_facets(const mesh::FunctionSpace& space, int quadrature) {
  std::vector<GradientTables> tables;
  const auto count = static_cast<int>(mesh::facets(space.mesh().shape).size());
  for (int f = 0; f < count; ++f)
    tables.emplace_back(space, mesh::facet_quadrature(space.mesh().shape, f, quadrature).points);
  return tables;
}

/// Of facets with values, the number of the constrained dof at each of `nodes` nodes; below 0 elsewhere.
mesh::Array<std::int32_t> constrained_nodes(const Problem& problem, std::size_t nodes) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto& boundary = problem.boundary();
  mesh::Array<std::int32_t> numbers = mesh::array_of<std::int32_t>(boundary.size() * nodes, -1);
#pragma omp parallel for schedule(static)
  for (std::size_t f = 0; f < boundary.size(); ++f) {
    if (!has_value(boundary[f])) continue;
    const auto dofs = space.dofs(boundary[f].facet.cell);
    const std::vector<int>& of_facet = space.facet_nodes(boundary[f].facet.facet);
    for (std::size_t i = 0; i < of_facet.size(); ++i)
      numbers[f * nodes + i] = -1 - problem.form().unknown_of_dof[dofs[of_facet[i]]];
  }
  return numbers;
}

/// What the constrained dofs have of numbers of all dofs.
std::vector<double> at_constrained(const Problem& problem, std::span<const double> of_dofs) {
  const std::vector<DirichletDof>& constrained = problem.dirichlet_dofs();
  std::vector<double> some(constrained.size());
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < some.size(); ++k) some[k] = of_dofs[constrained[k].dof];
  return some;
}

/// Over the processes, which agree on the dofs that are constrained.
void add_up(const Problem& problem, std::vector<double>& of_constrained) {
  if (problem.shared().is_alone()) return;
  mesh::Array<double> of_dofs = mesh::array_of<double>(problem.form().space->dof_count());
  for (std::size_t k = 0; k < of_constrained.size(); ++k) of_dofs[problem.dirichlet_dofs()[k].dof] = of_constrained[k];
  problem.shared().add_up(of_dofs);
  of_constrained = at_constrained(problem, of_dofs);
}

}  // namespace

/// What one facet after the other has. Keeps scratch memory: one a thread.
class BoundaryFlux::FacetWork {
 public:
  FacetWork(const Problem& problem, const Load& load, std::span<const double> dofs, const FieldOnRegions& diffusion,
            const std::vector<GradientTables>& tables)
      : load_(&load),
        dofs_(dofs),
        space_(problem.form().space),
        diffusion_(&diffusion),
        evaluator_(*space_, problem.form().quadrature),
        gradients_(tables.begin(), tables.end()) {}

  void move_to(const ConditionedFacet& at) {
    at_ = &at;
    evaluator_.move_to(at.facet);
    const auto of_cell = space_->dofs(at.facet.cell);
    u_.assign(evaluator_.points(), 0.0);
    for (const int a : nodes())
      for (int q = 0; q < evaluator_.points(); ++q) u_[q] += evaluator_.values()(q, a) * dofs_[of_cell[a]];
  }
  const std::vector<int>& nodes() const { return space_->facet_nodes(at_->facet.facet); }
  double area() const { return std::accumulate(evaluator_.measures().begin(), evaluator_.measures().end(), 0.0); }
  double integral() const { return integral_of(u_); }

  /// kappa grad u . n at the quadrature points; nothing where the diffusion is not finite at one of them, as it may be
  /// on the boundary.
  std::optional<std::vector<double>> gradient() {
    CellGradient& gradient = gradients_[at_->facet.facet];
    gradient.move_to(at_->facet.cell);
    std::vector<double> slopes(3 * u_.size()), flux(u_.size());
    gradient.evaluate(dofs_, slopes);
    try {
      diffusion_->of_cell(at_->facet.cell).evaluate(evaluator_.points_in_space(), flux);
    } catch (const InputError&) {
      return std::nullopt;
    }
    for (std::size_t q = 0; q < flux.size(); ++q)
      flux[q] *= std::inner_product(&slopes[3 * q], &slopes[3 * q] + 3, &evaluator_.normals()[3 * q], 0.0);
    return flux;
  }
  /// What a flux or a transfer prescribes there.
  std::vector<double> prescribed() {
    const BoundaryCondition& condition = load_->boundary()[at_->condition];
    std::vector<double> flux(u_.size());
    prescribed_flux(condition, evaluator_.points_in_space(), flux);
    if (condition.kind != BoundaryKind::transfer) return flux;
    std::vector<double> transfer(u_.size());
    condition.transfer.evaluate(evaluator_.points_in_space(), transfer);
    for (std::size_t q = 0; q < flux.size(); ++q) flux[q] -= transfer[q] * u_[q];
    return flux;
  }

  double integral_of(const std::vector<double>& values) const {
    return std::inner_product(values.begin(), values.end(), evaluator_.measures().begin(), 0.0);
  }
  /// Writes the integral of values phi_i for each node, or of phi_i^2 where there are none.
  void write_moments(const std::vector<double>* values, double* moments) const {
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      moments[i] = 0;
      for (int q = 0; q < evaluator_.points(); ++q) {
        const double phi = evaluator_.values()(q, nodes()[i]);
        moments[i] += evaluator_.measures()[q] * phi * (values != nullptr ? (*values)[q] : phi);
      }
    }
  }

 private:
  const Load* load_;
  std::span<const double> dofs_;
  const mesh::FunctionSpace* space_;
  const FieldOnRegions* diffusion_;
  operators::FacetEvaluator evaluator_;
  std::vector<CellGradient> gradients_;  ///< at the points of each facet of the reference cell
  const ConditionedFacet* at_ = nullptr;
  std::vector<double> u_;  ///< at the points
};

BoundaryFlux::BoundaryFlux(const Problem& problem, const Load& load, std::span<const double> dofs) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto& boundary = problem.boundary();
  for (std::size_t f = 0; f < mesh::facets(space.mesh().shape).size(); ++f)
    nodes_ = std::max(nodes_, space.facet_nodes(static_cast<int>(f)).size());
  node_counts_.resize(boundary.size());
  moments_ = mesh::array_of<double>(boundary.size() * nodes_);
  for (std::vector<double>* each : {&of_gradient_, &areas_, &integrals_}) each->resize(boundary.size());
  const bool reacts = problem.shared().any(std::ranges::any_of(boundary, has_value));
  mesh::Array<double> squares = mesh::array_of<double>(reacts ? moments_.size() : 0);
  const FieldOnRegions diffusion(problem.data().diffusion, "equation.diffusion", space.mesh(), std::nullopt);
  const std::vector<GradientTables> tables = tables_of_facets(space, problem.form().quadrature);
  mesh::parallel_for(
      boundary.size(), [&] { return FacetWork(problem, load, dofs, diffusion, tables); },
      [&](FacetWork& work, std::size_t f) {
        work.move_to(boundary[f]);
        node_counts_[f] = static_cast<int>(work.nodes().size());
        areas_[f] = work.area();
        integrals_[f] = work.integral();
        const auto gradient = work.gradient();
        of_gradient_[f] = gradient ? work.integral_of(*gradient) : std::numeric_limits<double>::quiet_NaN();
        if (boundary[f].insulated()) return;
        if (has_value(boundary[f])) {
          if (gradient) work.write_moments(&*gradient, &moments_[f * nodes_]);
          work.write_moments(nullptr, &squares[f * nodes_]);
        } else {
          const std::vector<double> flux = work.prescribed();
          work.write_moments(&flux, &moments_[f * nodes_]);
        }
      });
  if (reacts) divide_reactions(problem, load, dofs, squares);
}

/// Adds to the moments of the gradient what the reactions are beyond them.
void BoundaryFlux::divide_reactions(const Problem& problem, const Load& load, std::span<const double> dofs,
                                    std::span<const double> squares) {
  const operators::BilinearForm& form = problem.form();
  const mesh::Array<std::int32_t> numbers = constrained_nodes(problem, nodes_);
  const auto for_each_node = [&](const auto& work) {
    for (std::size_t entry = 0; entry < numbers.size(); ++entry)
      if (numbers[entry] >= 0) work(static_cast<std::size_t>(numbers[entry]), entry);
  };
  std::vector<double> sums(problem.dirichlet_dofs().size());  // of the squares
  for_each_node([&](std::size_t k, std::size_t entry) { sums[k] += squares[entry]; });
  add_up(problem, sums);
  const mesh::Array<char> reacts =
      operators::cells_at_vertices(*form.space, [&](std::int32_t dof) { return form.unknown_of_dof[dof] < 0; });
  std::vector<double> left = at_constrained(problem, operators::FormProduct(form).apply_to_dofs(dofs, reacts));
  for_each_node([&](std::size_t k, std::size_t entry) { left[k] -= moments_[entry]; });
  add_up(problem, left);
#pragma omp parallel for schedule(static)
  for (std::size_t entry = 0; entry < numbers.size(); ++entry)
    if (const std::int32_t k = numbers[entry]; k >= 0)
      moments_[entry] += (left[k] - load.of_constrained()[k]) * squares[entry] / sums[k];
}

double BoundaryFlux::inflow(std::size_t facet) const {
  const std::span<const double> all = moments(facet);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

}  // namespace femcg::solver

#include "solver/measures/boundary_flux.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

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

/// Numbers of the constrained dofs at the nodes of facets with prescribed values, [facets][nodes]; negative elsewhere.
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

/// Entries of the constrained dofs.
std::vector<double> at_constrained(const Problem& problem, std::span<const double> of_dofs) {
  const std::vector<DirichletDof>& constrained = problem.dirichlet_dofs();
  std::vector<double> some(constrained.size());
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < some.size(); ++k) some[k] = of_dofs[constrained[k].dof];
  return some;
}

/// Adds up the processes' contributions; the processes agree on which dofs are constrained.
void add_up(const Problem& problem, std::vector<double>& of_constrained) {
  if (problem.shared().is_alone()) return;
  mesh::Array<double> of_dofs = mesh::array_of<double>(problem.form().space->dof_count());
  for (std::size_t k = 0; k < of_constrained.size(); ++k) of_dofs[problem.dirichlet_dofs()[k].dof] = of_constrained[k];
  problem.shared().add_up(of_dofs);
  of_constrained = at_constrained(problem, of_dofs);
}

}  // namespace

/// Values and moments on one facet after the other. Has scratch memory: one per thread.
class BoundaryFlux::FacetWork {
 public:
  FacetWork(const Problem& problem, const DiffusionOnRegions& diffusion, const std::vector<GradientTables>& tables)
      : space_(problem.form().space),
        diffusion_(&diffusion),
        evaluator_(*space_, problem.form().quadrature),
        gradients_(tables.begin(), tables.end()) {}

  void move_to(const ConditionedFacet& at) {
    at_ = &at;
    evaluator_.move_to(at.facet);
    gradients_[at.facet.facet].move_to(at.facet.cell);
    const auto points = static_cast<std::size_t>(evaluator_.points());
    for (std::vector<double>* vector : {&u_, &flux_, &transfer_}) vector->resize(points);
    kappa_.resize(points * diffusion_->entries());
    slopes_.resize(3 * points);
    try {
      diffusion_->evaluate(at.facet.cell, evaluator_.points_in_space(), kappa_);
      is_finite_ = true;
    } catch (const InputError&) {
      is_finite_ = false;
    }
  }
  /// Sets the solution to evaluate.
  void take(const LoadSolution& of) {
    of_ = of;
    const auto of_cell = space_->dofs(at_->facet.cell);
    std::ranges::fill(u_, 0.0);
    for (const int a : nodes())
      for (int q = 0; q < evaluator_.points(); ++q) u_[q] += evaluator_.values()(q, a) * of.dofs[of_cell[a]];
  }
  const std::vector<int>& nodes() const { return space_->facet_nodes(at_->facet.facet); }
  double area() const { return std::accumulate(evaluator_.measures().begin(), evaluator_.measures().end(), 0.0); }
  double integral() const { return integral_of(u_); }

  /// (kappa grad u) . n at the quadrature points; null if the diffusion is not finite at one of them, which is possible
  /// on the boundary.
  const std::vector<double>* gradient() {
    if (!is_finite_) return nullptr;
    gradients_[at_->facet.facet].evaluate(of_.dofs, slopes_);
    const int entries = diffusion_->entries();
    for (std::size_t q = 0; q < flux_.size(); ++q) {
      operators::multiply_diffusion(&kappa_[q * entries], entries, &slopes_[3 * q]);
      flux_[q] = std::inner_product(&slopes_[3 * q], &slopes_[3 * q] + 3, &evaluator_.normals()[3 * q], 0.0);
    }
    return &flux_;
  }
  /// Prescribed flux, or transfer (ambient - u), at the quadrature points.
  const std::vector<double>& prescribed() {
    const BoundaryCondition& condition = of_.load->boundary()[at_->condition];
    prescribed_flux(condition, evaluator_.points_in_space(), flux_);
    if (condition.kind != BoundaryKind::transfer) return flux_;
    condition.transfer.evaluate(evaluator_.points_in_space(), transfer_);
    for (std::size_t q = 0; q < flux_.size(); ++q) flux_[q] -= transfer_[q] * u_[q];
    return flux_;
  }

  double integral_of(const std::vector<double>& values) const {
    return std::inner_product(values.begin(), values.end(), evaluator_.measures().begin(), 0.0);
  }
  /// Writes the integral of values phi_i for each node, or of phi_i^2 if `values` is null.
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
  LoadSolution of_{};
  const mesh::FunctionSpace* space_;
  const DiffusionOnRegions* diffusion_;
  operators::FacetEvaluator evaluator_;
  std::vector<CellGradient> gradients_;  ///< at the points of each facet of the reference cell
  const ConditionedFacet* at_ = nullptr;
  bool is_finite_ = false;                   ///< kappa is finite at the points
  std::vector<double> u_, flux_, transfer_;  ///< at the points
  std::vector<double> kappa_, slopes_;       ///< [points][entries], [points][3]
};

/// Adds to the gradient's moments their difference from the reactions.
class BoundaryFlux::Reactions {
 public:
  /// `squares`: integrals of phi_i^2 over facets, [facets][nodes].
  Reactions(const Problem& problem, std::size_t nodes, const mesh::Array<double>& squares)
      : problem_(problem),
        squares_(squares),
        numbers_(constrained_nodes(problem, nodes)),
        sums_(problem.dirichlet_dofs().size()),
        around_(operators::cells_at_vertices(
            *problem.form().space, [&](std::int32_t dof) { return problem.form().unknown_of_dof[dof] < 0; })) {
    for_each_node([&](std::size_t k, std::size_t entry) { sums_[k] += squares_[entry]; });
    add_up(problem, sums_);
  }

  void divide(const LoadSolution& of, BoundaryFlux& flux) const {
    std::vector<double> left =
        at_constrained(problem_, operators::FormProduct(problem_.form()).apply_to_dofs(of.dofs, around_));
    for_each_node([&](std::size_t k, std::size_t entry) { left[k] -= flux.moments_[entry]; });
    add_up(problem_, left);
#pragma omp parallel for schedule(static)
    for (std::size_t entry = 0; entry < numbers_.size(); ++entry)
      if (const std::int32_t k = numbers_[entry]; k >= 0)
        flux.moments_[entry] += (left[k] - of.load->of_constrained()[k]) * squares_[entry] / sums_[k];
  }

 private:
  template <class Work>
  void for_each_node(const Work& work) const {
    for (std::size_t entry = 0; entry < numbers_.size(); ++entry)
      if (numbers_[entry] >= 0) work(static_cast<std::size_t>(numbers_[entry]), entry);
  }

  const Problem& problem_;
  const mesh::Array<double>& squares_;
  mesh::Array<std::int32_t> numbers_;  ///< constrained_nodes
  std::vector<double> sums_;           ///< of the squares at each constrained dof
  mesh::Array<char> around_;           ///< 1 for each cell with a constrained dof
};

BoundaryFlux::BoundaryFlux(std::size_t facets, std::size_t nodes)
    : nodes_(nodes),
      node_counts_(facets),
      moments_(mesh::array_of<double>(facets * nodes)),
      of_gradient_(facets),
      areas_(facets),
      integrals_(facets) {}

std::vector<BoundaryFlux> boundary_fluxes(const Problem& problem, std::span<const LoadSolution> of) {
  const mesh::FunctionSpace& space = *problem.form().space;
  const auto& boundary = problem.boundary();
  std::size_t nodes = 0;
  for (std::size_t f = 0; f < mesh::facets(space.mesh().shape).size(); ++f)
    nodes = std::max(nodes, space.facet_nodes(static_cast<int>(f)).size());
  std::vector<BoundaryFlux> fluxes;
  for (std::size_t i = 0; i < of.size(); ++i) fluxes.push_back(BoundaryFlux(boundary.size(), nodes));
  const bool reacts = problem.shared().any(std::ranges::any_of(boundary, has_value));
  mesh::Array<double> squares = mesh::array_of<double>(reacts ? boundary.size() * nodes : 0);
  const DiffusionOnRegions diffusion(problem.data().diffusion, space.mesh());
  const std::vector<GradientTables> tables = tables_of_facets(space, problem.form().quadrature);
  mesh::parallel_for(
      boundary.size(), [&] { return BoundaryFlux::FacetWork(problem, diffusion, tables); },
      [&](BoundaryFlux::FacetWork& work, std::size_t f) {
        work.move_to(boundary[f]);
        if (has_value(boundary[f])) work.write_moments(nullptr, &squares[f * nodes]);
        for (std::size_t i = 0; i < of.size(); ++i) {
          BoundaryFlux& flux = fluxes[i];
          work.take(of[i]);
          flux.node_counts_[f] = static_cast<int>(work.nodes().size());
          flux.areas_[f] = work.area();
          flux.integrals_[f] = work.integral();
          const std::vector<double>* gradient = work.gradient();
          flux.of_gradient_[f] =
              gradient != nullptr ? work.integral_of(*gradient) : std::numeric_limits<double>::quiet_NaN();
          if (boundary[f].insulated()) continue;
          if (!has_value(boundary[f]))
            work.write_moments(&work.prescribed(), &flux.moments_[f * nodes]);
          else if (gradient != nullptr)
            work.write_moments(gradient, &flux.moments_[f * nodes]);
        }
      });
  if (!reacts) return fluxes;
  const BoundaryFlux::Reactions reactions(problem, nodes, squares);
  for (std::size_t i = 0; i < of.size(); ++i) reactions.divide(of[i], fluxes[i]);
  return fluxes;
}

double BoundaryFlux::inflow(std::size_t facet) const {
  const std::span<const double> all = moments(facet);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

}  // namespace femcg::solver

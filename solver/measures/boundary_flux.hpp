#pragma once

#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// A load, and the coefficients of its solution, of all dofs.
struct LoadSolution {
  const Load* load;
  std::span<const double> dofs;
};

/// q = kappa du/dn, outward, on the boundary: what flows in, as the discrete solution of one load has it.
///
/// There are two of it. The consistent one is what the equations say: where a flux or a transfer is prescribed, that
/// (with u in it); where the boundary is insulated, 0; and where values are, the reactions
///
///   R_i = a(u, phi_i) - l(phi_i)
///
/// of the constrained dofs (Gresho et al. 1987). With the source it balances as exactly as the system was solved. The
/// integrated gradient, of kappa grad u . n as cells have it, balances only by the discretisation error, of which it
/// is a sign.
///
/// The reaction of a dof is divided among the facets that it lies on: each has the moment of its gradient, and what is
/// left, a discretisation error, is divided as the integrals of phi_i^2 are. So the fluxes of groups that meet at an
/// edge are as accurate as those of others.
class BoundaryFlux {
 public:
  /// integral of q phi_i over a facet (by its place in Problem::boundary) for the nodes of
  /// FunctionSpace::facet_nodes, consistent.
  std::span<const double> moments(std::size_t facet) const {
    return {moments_.data() + facet * nodes_, static_cast<std::size_t>(node_counts_[facet])};
  }
  /// Their sum: the integral of q over the facet.
  double inflow(std::size_t facet) const;
  /// The integrated gradient; not a number where the diffusion is none on the facet.
  double of_gradient(std::size_t facet) const { return of_gradient_[facet]; }
  /// integral of 1 and of u over the facet.
  double area(std::size_t facet) const { return areas_[facet]; }
  double integral(std::size_t facet) const { return integrals_[facet]; }

 private:
  friend std::vector<BoundaryFlux> boundary_fluxes(const Problem&, std::span<const LoadSolution>);
  class FacetWork;
  class Reactions;

  BoundaryFlux(std::size_t facets, std::size_t nodes);

  std::size_t nodes_;             ///< of a facet, at most
  std::vector<int> node_counts_;  ///< of each facet
  mesh::Array<double> moments_;   ///< facets x nodes
  std::vector<double> of_gradient_, areas_, integrals_;
};

/// The flux of each solution, made in one pass over the boundary. Prescribed values are finite, as the loads were made
/// from them. Collective.
std::vector<BoundaryFlux> boundary_fluxes(const Problem& problem, std::span<const LoadSolution> of);

}  // namespace femcg::solver

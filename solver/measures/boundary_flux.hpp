#pragma once

#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// A load and the coefficients of its solution at all dofs.
struct LoadSolution {
  const Load* load;
  std::span<const double> dofs;
};

/// Boundary flux q = kappa du/dn, outward derivative, i.e. the inflow, of the discrete solution of one load.
///
/// It comes in two versions. The consistent flux follows from the equations: the prescribed flux or transfer (with u in
/// it), 0 on insulated boundary, and on boundary with prescribed values the reactions
///
///   R_i = a(u, phi_i) - l(phi_i)
///
/// of the constrained dofs (Gresho et al. 1987). With the source it balances as exactly as the system was solved. The
/// integrated gradient, of kappa grad u . n in the cells, balances only up to the discretisation error, which it
/// indicates.
///
/// The reaction of a dof is divided among its facets: each gets the moment of its gradient, and the rest, a
/// discretisation error, is divided in proportion to the integrals of phi_i^2. So the fluxes of groups that meet at an
/// edge are as accurate as those of others.
class BoundaryFlux {
 public:
  /// Consistent moments, integral of q phi_i over a facet (index into Problem::boundary), for the nodes of
  /// FunctionSpace::facet_nodes.
  std::span<const double> moments(std::size_t facet) const {
    return {moments_.data() + facet * nodes_, static_cast<std::size_t>(node_counts_[facet])};
  }
  /// Sum of the moments: the integral of q over the facet.
  double inflow(std::size_t facet) const;
  /// Integrated gradient; NaN if the diffusion is not finite on the facet.
  double of_gradient(std::size_t facet) const { return of_gradient_[facet]; }
  /// Integrals of 1 and of u over the facet.
  double area(std::size_t facet) const { return areas_[facet]; }
  double integral(std::size_t facet) const { return integrals_[facet]; }

 private:
  friend std::vector<BoundaryFlux> boundary_fluxes(const Problem&, std::span<const LoadSolution>);
  class FacetWork;
  class Reactions;

  BoundaryFlux(std::size_t facets, std::size_t nodes);

  std::size_t nodes_;             ///< per facet, at most
  std::vector<int> node_counts_;  ///< per facet
  mesh::Array<double> moments_;   ///< [facets][nodes]
  std::vector<double> of_gradient_, areas_, integrals_;
};

/// Flux of each solution, computed in one traversal of the boundary. Prescribed values are finite, since the loads were
/// made from them. Collective.
std::vector<BoundaryFlux> boundary_fluxes(const Problem& problem, std::span<const LoadSolution> of);

}  // namespace femcg::solver

#pragma once

#include <span>
#include <vector>

#include "solver/measures/boundary_flux.hpp"

namespace femcg::solver {

/// Matrix between the terminals of a problem (ProblemData::terminals), row by row: C_ij = a(u_i, u_j) of the loads'
/// solutions, ProblemData::symmetry times that of the mesh. With the reactions R_j of load j and the values g_i that load
/// i prescribes,
///
///   C_ij = sum over the constrained dofs d of g_i(d) R_j(d),
///
/// the flux into terminal i; where terminals meet, it has the whole reaction of a dof, which fluxes of groups share.
/// Collective.
std::vector<std::vector<double>> matrix_of_terminals(const Problem& problem, std::span<const BoundaryFlux> fluxes);

}  // namespace femcg::solver

#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mesh/locate.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// What is measured of a solution.
struct Quantities {
  double minimum = 0, maximum = 0;     ///< over the nodes
  double integral = 0;                 ///< of u
  std::map<std::string, double> flux;  ///< integral of kappa du/dn, outward, over each boundary group
  std::vector<std::pair<std::string, double>> probes;
};

/// |u - u_h| and |grad (u - u_h)| in L2.
struct Errors {
  double l2 = 0, h1 = 0;
};

using Probes = std::vector<std::pair<std::string, mesh::Location>>;

/// Finds the cells of probes; throws InputError, with their places, for those outside the mesh.
Probes locate_probes(const std::vector<Probe>& probes, const mesh::Mesh& mesh);

/// Fluxes are the conservative ones: what the conditions say on Neumann and Robin facets, and the reactions a(u, phi_i)
/// - l(phi_i) of the constrained dofs on Dirichlet facets, so that all of them and the integral of the source add up to
/// zero as exactly as the system was solved (Gresho et al. 1987).
Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs);

/// Integrated with two more points per direction than the problem; grad u is that of the interpolant of u of degree p +
/// 3 on each cell.
Errors measure_errors(const Field& exact, const Problem& problem, std::span<const double> dofs);

}  // namespace femcg::solver

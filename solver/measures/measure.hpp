#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mesh/locate.hpp"
#include "operators/forms/check/cell_integrals.hpp"
#include "solver/measures/boundary_flux.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// A boundary group. What is divided by the area is not a number where the group has no facet.
struct GroupQuantities {
  double area = 0;                            ///< in the plane the length
  double mean = 0, minimum = 0, maximum = 0;  ///< of u; the extremes over the nodes
  double flux = 0;                            ///< integral of kappa du/dn, outward: what flows in, consistent
  double gradient_flux = 0;                   ///< the same of the gradient as cells have it
};

/// A region. The mean is not a number where it has no cell.
struct RegionQuantities {
  double volume = 0;  ///< in the plane the area
  double mean = 0;    ///< of u
};

/// What comes and goes, each not negative: through the boundary facet by facet, and by the source point by point.
struct Balance {
  double in = 0, out = 0;         ///< integrals of kappa du/dn over the facets where it is positive, and negative
  double sources = 0, sinks = 0;  ///< integrals of f where it is positive, and negative

  /// The heat that moves: the larger of inflow with sources and outflow with sinks.
  double moves() const { return std::max(in + sources, out + sinks); }
  /// in + sources - out - sinks over what moves; 0 where nothing does. A matter of the tolerance of CG alone, since the
  /// fluxes are the consistent ones.
  double relative_error() const { return moves() > 0 ? (in + sources - out - sinks) / moves() : 0; }
};

/// What is measured of a solution.
struct Quantities {
  double minimum = 0, maximum = 0;     ///< over the nodes
  double integral = 0;                 ///< of u
  std::map<std::string, double> flux;  ///< GroupQuantities::flux
  std::map<std::string, GroupQuantities> groups;
  std::map<std::string, RegionQuantities> regions;
  Balance balance;
  std::vector<std::pair<std::string, double>> probes;
};

/// Where each is; nothing on processes that leave it to another.
using Probes = std::vector<std::pair<std::string, std::optional<mesh::Location>>>;

/// Finds the cells of probes, or the nearest points of a curved surface, which `warnings` says with their distance
/// (locate_on_surface); throws InputError, with their places, for those outside the mesh. Collective, as all here,
/// where several processes have parts of the mesh.
Probes locate_probes(const std::vector<Probe>& probes, const mesh::Mesh& mesh, const operators::SharedDofs& shared = {},
                     std::vector<std::string>* warnings = nullptr);

/// A function of the problem's space on the GPU, to be set to one solution after the other; nothing where that does not
/// pay, or there is no room.
std::optional<operators::FunctionOnGpu> function_on_gpu(const Problem& problem, operators::Device device);

/// `flux` is that of the solution: consistent, so that all fluxes and the integral of the source add up to zero as
/// exactly as the system was solved. Extremes and integrals over cells are found on the GPU where the solution is there
/// too; it may be null.
Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs,
                   const BoundaryFlux& flux, const operators::FunctionOnGpu* on_gpu = nullptr);
/// The same, and finds the flux.
inline Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs,
                          const operators::FunctionOnGpu* on_gpu = nullptr) {
  const LoadSolution one{&load, dofs};
  return measure(problem, load, probes, dofs, boundary_fluxes(problem, {&one, 1}).front(), on_gpu);
}

}  // namespace femcg::solver

#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/forms/check/cell_integrals.hpp"
#include "solver/measures/boundary_flux.hpp"
#include "solver/problem/located_points.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Quantities of a boundary group. NaN for quotients by the area if the group has no facet.
struct GroupQuantities {
  double area = 0;                            ///< in 2D the length
  double mean = 0, minimum = 0, maximum = 0;  ///< of u; extremes over the nodes
  double flux = 0;                            ///< integral of kappa du/dn (the inflow), consistent
  double gradient_flux = 0;                   ///< the same from the cells' gradient
};

/// Quantities of a region. The mean is NaN if the region has no cell.
struct RegionQuantities {
  double volume = 0;  ///< in 2D the area
  double mean = 0;    ///< of u
};

/// Inflow and outflow, each nonnegative: through the boundary facet by facet, and by the source point by point.
struct Balance {
  double in = 0, out = 0;         ///< integrals of kappa du/dn over the facets where it is positive, and negative
  double sources = 0, sinks = 0;  ///< integrals of f where it is positive, and negative

  /// Total turnover: the larger of inflow with sources and outflow with sinks.
  double moves() const { return std::max(in + sources, out + sinks); }
  /// in + sources - out - sinks over the turnover; 0 without turnover. Depends only on the tolerance of CG, since the
  /// fluxes are the consistent ones.
  double relative_error() const { return moves() > 0 ? (in + sources - out - sinks) / moves() : 0; }
};

/// Measured quantities of a solution.
struct Quantities {
  double minimum = 0, maximum = 0;     ///< over the nodes
  double integral = 0;                 ///< of u
  std::map<std::string, double> flux;  ///< GroupQuantities::flux
  std::map<std::string, GroupQuantities> groups;
  std::map<std::string, RegionQuantities> regions;
  Balance balance;
  std::vector<std::pair<std::string, double>> probes;

  /// Multiplies everything that is a sum over the mesh: areas, volumes, integrals, fluxes and the balance.
  void multiply_sums(double factor);
};

using Probes = LocatedPoints;

/// locate_points of probes.
inline Probes locate_probes(const std::vector<Probe>& probes, const mesh::Mesh& mesh,
                            const operators::SharedDofs& shared = {}, std::vector<std::string>* warnings = nullptr) {
  return locate_points(probes, "probe", mesh, shared, warnings);
}

/// A function of the problem's space on the GPU, to be set to each solution; empty if that does not pay, or there is no
/// room.
std::optional<operators::FunctionOnGpu> function_on_gpu(const Problem& problem, operators::Device device);

/// `flux`: the consistent flux of the solution, so that all fluxes and the integral of the source add up to zero as
/// exactly as the system was solved. Extremes and integrals over cells are computed on the GPU if the solution is
/// there; `on_gpu` may be null. Sums are those of the whole, ProblemData::symmetry times those of the mesh.
Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs,
                   const BoundaryFlux& flux, const operators::FunctionOnGpu* on_gpu = nullptr);
/// The same; also computes the flux.
inline Quantities measure(const Problem& problem, const Load& load, const Probes& probes, std::span<const double> dofs,
                          const operators::FunctionOnGpu* on_gpu = nullptr) {
  const LoadSolution one{&load, dofs};
  return measure(problem, load, probes, dofs, boundary_fluxes(problem, {&one, 1}).front(), on_gpu);
}

}  // namespace femcg::solver

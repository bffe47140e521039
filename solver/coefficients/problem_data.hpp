#pragma once

// Data of a problem: -div(kappa grad u) = f, boundary conditions, and discretisation. Plain data, filled from a case
// file or by a program.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "solver/coefficients/diffusion_field.hpp"

namespace femcg::solver {

enum class BoundaryKind { value, flux, transfer };  ///< Dirichlet, Neumann, Robin

/// u = value, or kappa du/dn = flux, or kappa du/dn = transfer (ambient - u), on one boundary group.
struct BoundaryCondition {
  std::string group;  ///< physical group or box side; "all" is every boundary facet
  Place place;
  BoundaryKind kind = BoundaryKind::value;
  Expression value = 0.0;     ///< of kind value or flux
  Expression transfer = 0.0;  ///< through the layers, too
  double layers = 0;          ///< resistance of layers that the mesh does not have, sum of thickness / conductivity
  Expression ambient = 0.0;
};

enum class UnknownOrder { first_touch, reverse_cuthill_mckee };

/// A point at which the solution is reported, or that has a source.
struct Probe {
  std::string name;
  std::array<double, 3> point{};
  Place place{};
};

/// The source power delta(x - point).
struct PointSource {
  Probe at;
  double power = 0;
};

/// Data of one right-hand side.
struct LoadData {
  std::string name;
  Field source;
  std::vector<BoundaryCondition> boundary;  ///< groups, kinds, transfers and order as in ProblemData::boundary
  std::vector<PointSource> points = {};     ///< points and order as in ProblemData::points
};

struct ProblemData {
  DiffusionField diffusion;  ///< kappa
  Field source;              ///< f
  std::vector<BoundaryCondition> boundary;
  std::vector<PointSource> points;
  std::vector<LoadData> loads;  ///< empty: one load, from source, boundary and points
  /// Groups with prescribed values, each of which the load of its name holds at 1, all other values and sources being
  /// 0; empty if `loads` were given.
  std::vector<std::string> terminals;
  std::optional<Field> exact;  ///< u, if known
  int quadrature = 2;          ///< mesh::cell_quadrature's n
  UnknownOrder unknown_order = UnknownOrder::first_touch;
  int symmetry = 1;  ///< number of copies of the mesh that make the whole: areas, integrals and fluxes are of the whole
};

}  // namespace femcg::solver

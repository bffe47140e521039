#pragma once

// What a problem is made of: -div(kappa grad u) = f, the conditions on the boundary, and how it is discretised. Plain
// data, which a case file fills, or a program.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "solver/coefficients/field.hpp"

namespace femcg::solver {

enum class BoundaryKind { value, flux, transfer };  ///< Dirichlet, Neumann, Robin

/// u = value, or kappa du/dn = flux, or kappa du/dn = transfer (ambient - u), on one boundary group.
struct BoundaryCondition {
  std::string group;  ///< physical group or box side; "all" is every boundary facet
  Place place;
  BoundaryKind kind = BoundaryKind::value;
  Expression value = 0.0;  ///< of value or flux
  Expression transfer = 0.0;
  Expression ambient = 0.0;
};

enum class UnknownOrder { first_touch, reverse_cuthill_mckee };

/// Data of one right-hand side.
struct LoadData {
  std::string name;
  Field source;
  std::vector<BoundaryCondition> boundary;  ///< the groups, kinds and transfers of ProblemData::boundary, in its order
};

struct ProblemData {
  Field diffusion;  ///< kappa
  Field source;     ///< f
  std::vector<BoundaryCondition> boundary;
  std::vector<LoadData> loads;  ///< none: one load, of source and boundary
  std::optional<Field> exact;   ///< u, where it is known
  int quadrature = 2;           ///< mesh::cell_quadrature's n
  UnknownOrder unknown_order = UnknownOrder::first_touch;
};

/// A point at which the solution is reported.
struct Probe {
  std::string name;
  std::array<double, 3> point{};
  Place place{};
};

}  // namespace femcg::solver

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/base/pages.hpp"
#include "solver/coefficients/problem_data.hpp"

namespace femcg::solver {

class FieldOnRegions;
class Problem;

/// Part of kappa du/dn that does not depend on u, at points of the boundary [count][3]: the flux, or transfer times
/// ambient.
void prescribed_flux(const BoundaryCondition& condition, std::span<const double> points, std::span<double> values);

/// One right-hand side of a problem: the load vector, from which Dirichlet values are eliminated.
class Load {
 public:
  /// Makes a load of a problem whose matrix is known. Throws InputError if a region does not exist, a value is not
  /// finite, or source and fluxes do not balance on a floating component.
  Load(const Problem& problem, LoadData data);

  const std::string& name() const { return data_.name; }  ///< empty if the problem has one load
  /// l(phi_i) - a(g, phi_i) of the unknowns.
  const mesh::Array<double>& values() const { return values_; }
  /// l(phi_i), and the prescribed value, of the constrained dofs, in the order of Problem::dirichlet_dofs().
  const std::vector<double>& of_constrained() const { return of_constrained_; }
  const std::vector<double>& boundary_values() const { return boundary_values_; }
  /// Common value of all constrained dofs, and common ambient value of all Robin conditions, if each is a single
  /// number: their terms are then multiples of Problem::unit_boundary. The same on all processes.
  std::optional<double> uniform_value() const { return uniform_value_; }
  std::optional<double> uniform_ambient() const { return uniform_ambient_; }
  const Field& source() const { return data_.source; }
  /// Integrals of the positive and of the negative part of the source, both nonnegative, over this process's cells, and
  /// the powers of its points.
  double sources() const { return sources_; }
  double sinks() const { return sinks_; }
  /// Integral of the constant sources added on floating components so that the load balances.
  double added_source() const { return added_source_; }
  /// Conditions of ProblemData::boundary with the values of this load.
  const std::vector<BoundaryCondition>& boundary() const { return data_.boundary; }
  /// Warnings for the user: conflicting boundary values, small imbalances removed.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  const Place& place() const;
  void constrain(const Problem& problem);
  void add_source(const Problem& problem);
  void note_unseen_source(const Problem& problem, const FieldOnRegions& source);
  void add_points(const Problem& problem);
  void add_boundary_terms(const Problem& problem);
  void add_uniform_transfer(const Problem& problem);
  void check_underflow(const Problem& problem) const;
  void balance(const Problem& problem);
  void move_boundary_values(const Problem& problem);

  LoadData data_;
  std::vector<double> boundary_values_, of_constrained_;
  std::optional<double> uniform_value_, uniform_ambient_;
  mesh::Array<double> of_dofs_;  ///< l(phi_i) of every dof, until boundary values are eliminated
  mesh::Array<double> values_;
  double sources_ = 0, sinks_ = 0, added_source_ = 0;
  bool given_ = false;                ///< true if a source or flux is nonzero somewhere
  bool has_boundary_values_ = false;  ///< true if one is nonzero
  std::vector<std::string> warnings_;
};

}  // namespace femcg::solver

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/problem/problem.hpp"
#include "solver/system/conductors.hpp"

namespace femcg::solver {

/// The unknowns of a problem by the connected component of the mesh that they lie in, and the diagonal of A: what all
/// loads of a run need.
class Components {
 public:
  /// `diagonal` is A's, in the order of the form. Collective, as all here, where several processes have parts.
  Components(const Problem& problem, std::vector<double> diagonal);

  const Problem& problem() const { return *problem_; }
  const Conductors& conductors() const { return conductors_; }
  std::size_t count() const { return static_cast<std::size_t>(problem_->components()); }
  std::int32_t of_dof(std::size_t dof) const { return of_dof_.empty() ? 0 : of_dof_[dof]; }
  std::size_t of_unknown(std::size_t i) const { return of_unknown_.empty() ? 0 : of_unknown_[i]; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  /// The stiffness at an unknown of the functions of least energy: where the diffusion jumps within a cell, these are
  /// flat where it is large.
  double stiffness(std::size_t i) const { return diagonal_[i] * conductors_.within_cells(i); }
  /// True if the row of an unknown has no rounding to speak of, of conductors or large transfer.
  bool is_exact(std::size_t i) const { return is_exact_[i] != 0; }
  bool owns(std::size_t i) const { return owned_.empty() || owned_[i] != 0; }
  /// Sums of term(i) over the unknowns of each component, the same bits for any number of threads.
  template <class Term>
  std::vector<double> sums(const Term& term) const;
  /// The same of several terms at once, a std::array of them for each unknown.
  template <class Terms>
  auto several_sums(const Terms& terms) const;
  /// The same over rows, each of the unknown `unknown`: terms(row).
  template <class Rows, class Terms>
  auto sums_of_rows(const Rows& rows, const Terms& terms) const;
  /// The same over so many items: item k is of component part_of(k), or of none of this process where that is below 0.
  template <class PartOf, class Terms>
  auto sums_of_items(std::size_t items, const PartOf& part_of, const Terms& terms) const;

 private:
  const Problem* problem_;
  Conductors conductors_;
  std::vector<double> diagonal_;
  std::vector<char> is_exact_;                     ///< of the unknowns
  std::vector<std::int32_t> of_dof_, of_unknown_;  ///< empty where there is one component
  std::vector<char> owned_;                        ///< of the unknowns; empty where there is one process
};

/// The system of one load that is left for CG. In each component u begins as the constant whose error has the least
/// energy,
///
///   c = 1'b / 1'A1,   and CG solves   A w = b - c A1   for   w = u - c,
///
/// so that neither an offset of all boundary and ambient values nor a small transfer coefficient, with which constants
/// nearly are in the kernel, is left for it. A1 comes from boundary values and transfer alone. Each component is scaled
/// by a power of two of its own, so that those with small loads count as those with large ones.
///
/// Energies are physical ones, integral of kappa |grad u|^2 + integral of transfer (u - ambient)^2, which no offset
/// changes.
class ConstantStart {
 public:
  /// `of` must outlive it. Throws InputError where the load over- or underflows.
  ConstantStart(const Components& of, const Load& load);

  /// The scaled right-hand side; vectors below are scaled as it is.
  std::span<const double> values() const { return values_; }
  /// w of a given u, and back. Where transfer alone holds a component, its constant is then that with which its heat
  /// balances.
  std::vector<double> to_difference(std::vector<double> u) const;
  std::vector<double> from_difference(std::vector<double> w) const;

  /// The least energy of the solution in a component that has a load, of the w so far.
  double energy(std::span<const double> w) const;
  /// The same, and how far w and its residual r are above a tolerance: in each component by
  ///   |r| in the norm of D^-1, D being A's diagonal, which bounds the energy of the error from below but for the
  ///   largest eigenvalue of D^-1 A; against the square root of the solution's energy;
  ///   |w'r| / |w|_A, which bounds it too: 0 but for rounding, CG's w being at right angles to r;
  ///   what its heat lacks of a balance, 1'r, as part of the energy of the error, |1'r|^2 / 1'A1; and that of each of
  ///   its good conductors;
  ///   rounding of w'Aw, in rows that neither conductors nor transfer make exact: where it is 100 times what the
  ///   tolerance allows of the energy, A is too badly conditioned for what double precision holds of it.
  SolutionAccuracy accuracy(std::span<const double> w, std::span<const double> r, double tolerance) const;
  /// Corrects rounding of r = b - c A1 - A w, which is taken for heat in good conductors.
  void correct(std::span<const double> w, std::span<double> r) const;
  /// |b|, of the components that have a load, scaled.
  double norm() const { return norm_; }
  /// The heat that a solution of this tolerance may lack, over all components.
  double heat_lost(std::span<const double> w, double tolerance) const;

 private:
  /// A row where A1 or the load of boundary and ambient values is not 0.
  struct BoundaryRow {
    std::int32_t unknown;
    double unit;   ///< (A1)_i
    double known;  ///< the load of boundary and ambient values beyond c
  };
  /// Data of a component.
  struct Part {
    double constant = 0;
    double unit = 0;  ///< 1'A1
    bool has_values = false;
    int exponent = 0;        ///< of its scale
    double energy = 0;       ///< of boundary and ambient values beyond c, with w = 0
    bool is_loaded = false;  ///< b - c A1 is more than rounding
    double imbalance = 0;    ///< 1'(b - c A1), rounding
    double rounding = 0;     ///< of 1'r
  };

  void find_rows(const Load& load);
  void find_uniform_rows(const Load& load);
  void find_constants(const Load& load);
  void find_energies(const Load& load);
  std::vector<double> energies_of_transfer(const Load& load) const;
  void scale_parts(std::span<const double> b);
  std::vector<double> largest_values() const;
  std::vector<double> works(std::span<const double> w) const;  ///< w'(b - c A1)
  std::vector<double> energies(std::span<const double> w, std::span<const double> works) const;
  std::vector<double> energies(std::span<const double> w) const;
  double least_of_loaded(std::span<const double> energies) const;
  std::vector<double> imbalances(std::span<const double> w) const;
  std::vector<double> imbalances_of_conductors(std::span<const double> w) const;

  const Components* of_;
  std::vector<BoundaryRow> rows_;
  std::vector<Part> parts_;
  std::vector<double> reaction_;  ///< a(g, phi_i) at the constrained dofs, of their values g and the cells here
  mesh::Array<double> values_;
  std::vector<double> of_conductors_;  ///< 1_R'(b - c A1)
  double norm_ = 0;
};

}  // namespace femcg::solver

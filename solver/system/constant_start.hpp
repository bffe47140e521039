#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/problem/problem.hpp"
#include "solver/system/conductors.hpp"

namespace femcg::solver {

/// Connected component of the mesh of each unknown, and the diagonal of A: data that all loads of a run share.
class Components {
 public:
  /// `diagonal`: of A, in the order of the form. Collective, like all member functions, if several processes have
  /// subdomains.
  Components(const Problem& problem, std::vector<double> diagonal);

  const Problem& problem() const { return *problem_; }
  const Conductors& conductors() const { return conductors_; }
  std::size_t count() const { return static_cast<std::size_t>(problem_->components()); }
  std::int32_t of_dof(std::size_t dof) const { return of_dof_.empty() ? 0 : of_dof_[dof]; }
  std::size_t of_unknown(std::size_t i) const { return of_unknown_.empty() ? 0 : of_unknown_[i]; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }
  /// Stiffness at an unknown of the functions of least energy: if the diffusion jumps within a cell, these are constant
  /// where it is large.
  double stiffness(std::size_t i) const { return diagonal_[i] * conductors_.within_cells(i); }
  /// True if the row of an unknown has negligible rounding errors due to conductors or large transfer.
  bool is_exact(std::size_t i) const { return is_exact_[i] != 0; }
  bool owns(std::size_t i) const { return owned_.empty() || owned_[i] != 0; }
  /// Sums of term(i) over the unknowns of each component, bitwise the same for any number of threads.
  template <class Term>
  std::vector<double> sums(const Term& term) const;
  /// The same for several terms at once, a std::array for each unknown.
  template <class Terms>
  auto several_sums(const Terms& terms) const;
  /// The same over rows with a member `unknown`: terms(row).
  template <class Rows, class Terms>
  auto sums_of_rows(const Rows& rows, const Terms& terms) const;
  /// The same over `items` items: item k belongs to component part_of(k), or to none on this process if negative.
  template <class PartOf, class Terms>
  auto sums_of_items(std::size_t items, const PartOf& part_of, const Terms& terms) const;

 private:
  const Problem* problem_;
  Conductors conductors_;
  std::vector<double> diagonal_;
  std::vector<char> is_exact_;                     ///< [unknowns]
  std::vector<std::int32_t> of_dof_, of_unknown_;  ///< empty if there is one component
  std::vector<char> owned_;                        ///< [unknowns]; empty on one process
};

/// System of one load to be solved by CG. In each component u starts as the constant whose error has the least energy,
///
///   c = 1'b / 1'A1,   and CG solves   A w = b - c A1   for   w = u - c,
///
/// so that CG need not resolve an offset common to all boundary and ambient values, nor a small transfer coefficient,
/// with which constants are nearly in the kernel. A1 depends on boundary values and transfer only. Each component is
/// scaled by its own power of two, so that components with small loads are solved as accurately as others.
///
/// Energies are physical ones, integral of kappa |grad u|^2 + integral of transfer (u - ambient)^2, which are invariant
/// to an offset.
class ConstantStart {
 public:
  /// `of` must outlive this object. Throws InputError if the load over- or underflows.
  ConstantStart(const Components& of, const Load& load);

  /// The scaled right-hand side; vectors below have the same scaling.
  std::span<const double> values() const { return values_; }
  /// Convert u to w, and back. In a component with transfer only, the constant is then chosen such that its heat
  /// balances.
  std::vector<double> to_difference(std::vector<double> u) const;
  std::vector<double> from_difference(std::vector<double> w) const;

  /// Least energy of the solution over the components with a load, for the present w.
  double energy(std::span<const double> w) const;
  /// The same, and how far w and its residual r exceed a tolerance, the maximum over the components of:
  ///   |r| in the norm of D^-1, D being A's diagonal, a lower bound of the energy of the error up to the
  ///   largest eigenvalue of D^-1 A; relative to the square root of the solution's energy;
  ///   |w'r| / |w|_A, another lower bound: 0 up to rounding, since CG's w is orthogonal to r;
  ///   the violation 1'r of its heat balance, as part of the energy of the error, |1'r|^2 / 1'A1; and those of its
  ///   good conductors;
  ///   rounding of w'Aw, in rows that neither conductors nor transfer make exact: if it is 100 times what the
  ///   tolerance permits of the energy, A is too badly conditioned for double precision.
  SolutionAccuracy accuracy(std::span<const double> w, std::span<const double> r, double tolerance) const;
  /// Corrects the rounding errors of r = b - c A1 - A w that act like heat in good conductors.
  void correct(std::span<const double> w, std::span<double> r) const;
  /// |b| of the components with a load, scaled.
  double norm() const { return norm_; }
  /// Heat that a solution of this tolerance may lack, over all components.
  double heat_lost(std::span<const double> w, double tolerance) const;

 private:
  /// A row where A1 or the load of boundary and ambient values is nonzero.
  struct BoundaryRow {
    std::int32_t unknown;
    double unit;   ///< (A1)_i
    double known;  ///< load of boundary and ambient values relative to c
  };
  /// Data of a component.
  struct Part {
    double constant = 0;
    double unit = 0;  ///< 1'A1
    bool has_values = false;
    int exponent = 0;        ///< of its scale
    double energy = 0;       ///< of boundary and ambient values relative to c, with w = 0
    bool is_loaded = false;  ///< b - c A1 exceeds rounding
    double imbalance = 0;    ///< 1'(b - c A1), due to rounding
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
  std::vector<double> reaction_;  ///< a(g, phi_i) at the constrained dofs, from their values g and this process's cells
  mesh::Array<double> values_;
  std::vector<double> of_conductors_;  ///< 1_R'(b - c A1)
  double norm_ = 0;
};

}  // namespace femcg::solver

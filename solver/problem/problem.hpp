#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mesh/function_space.hpp"
#include "operators/forms/element_matrices.hpp"
#include "operators/forms/reference.hpp"
#include "solver/coefficients/problem_data.hpp"

namespace femcg::solver {

/// A boundary facet and the condition that holds there; null where the boundary is insulated.
struct ConditionedFacet {
  mesh::BoundaryFacet facet;
  const BoundaryCondition* condition = nullptr;
};

/// The part of kappa du/dn that does not depend on u, at points of the boundary (count x 3): the flux, or transfer
/// times ambient.
void prescribed_flux(const BoundaryCondition& condition, std::span<const double> points, std::span<double> values);

/// The numbers by which a person knows a problem.
struct ProblemSize {
  int dimension = 0;
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  std::int32_t cells = 0;
  int degree = 0, geometric_order = 1, quadrature = 0;
  std::int32_t dofs = 0, unknowns = 0;
};

/// The discrete problem A u = b on the free unknowns: the bilinear form, the load vector with the Dirichlet values
/// moved to it, and the way back from unknowns to dofs.
class Problem {
 public:
  /// Builds form and load. `data` and `space` must outlive it. Throws InputError where a group or region does not
  /// exist, diffusion is not positive, transfer is negative, a value is not finite, or a pure Neumann problem's load
  /// does not balance.
  Problem(const ProblemData& data, const mesh::FunctionSpace& space);

  const operators::BilinearForm& form() const { return form_; }
  const std::vector<double>& load() const { return load_; }
  /// l(phi_i) of every dof, constrained ones included.
  const std::vector<double>& load_of_dofs() const { return load_of_dofs_; }
  /// Every boundary facet with its condition, in the order of cells.
  const std::vector<ConditionedFacet>& boundary() const { return conditions_; }
  /// Sentences a user should read: groups of no facet, mean values fixed, small imbalances removed.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// Whether constants are in the kernel on some part of the mesh.
  bool singular() const { return !floating_.empty(); }

  /// Coefficients of all dofs: unknowns from x, constrained ones from the boundary values; on parts without any
  /// Dirichlet or Robin condition the mean is set to that of the exact solution where there is one, else to zero.
  std::vector<double> to_dofs(std::span<const double> x) const;
  /// r = b - A x with the reference operator. b may be a multiple of the load.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b) const;

 private:
  /// A component of the mesh without Dirichlet or Robin condition.
  struct Floating {
    std::vector<std::int32_t> cells;
    std::vector<std::int32_t> dofs;
  };

  void set_diffusion();
  void check_diffusion();
  void constrain();
  void number_unknowns();
  void collect_robin();
  void add_source();
  void add_boundary_terms();
  void find_floating();
  void balance();
  void check_underflow() const;
  std::string part_text(const std::vector<std::int32_t>& cells) const;
  void move_boundary_values();

  const ProblemData* data_;
  const mesh::FunctionSpace* space_;
  std::vector<ConditionedFacet> conditions_;
  operators::BilinearForm form_;
  std::vector<double> boundary_values_;  ///< a dof; 0 where free
  std::vector<double> load_of_dofs_;     ///< l(phi_i) of all dofs, before boundary values are moved to it
  std::vector<double> load_;             ///< of the unknowns
  std::vector<Floating> floating_;
  bool given_ = false;  ///< whether a source or flux is not 0 somewhere
  std::vector<std::string> remarks_;
};

}  // namespace femcg::solver

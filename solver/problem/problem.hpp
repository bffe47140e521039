#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "operators/forms/element_matrices.hpp"
#include "solver/coefficients/problem_data.hpp"
#include "solver/problem/load.hpp"
#include "solver/problem/located_points.hpp"
#include "solver/problem/unit_boundary.hpp"

namespace femcg::solver {

/// Entry of `boundary` that applies where no other does.
inline constexpr const char* every_group = "all";

/// A boundary facet with its condition.
struct ConditionedFacet {
  mesh::BoundaryFacet facet;
  int condition = -1;  ///< index into ProblemData::boundary; -1 on insulated boundary
  BoundaryKind kind = BoundaryKind::flux;

  bool insulated() const { return condition < 0; }
};

/// A dof with a prescribed value, its point, and its condition, the last one if several apply.
struct DirichletDof {
  std::int32_t dof;
  int condition;
  std::array<double, 3> point;
};

/// Characteristic numbers of a problem, for reports.
struct ProblemSize {
  int dimension = 0;
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  std::int64_t cells = 0;
  int degree = 0, geometric_order = 1, quadrature = 0;
  std::int64_t dofs = 0, unknowns = 0;
  bool axisymmetric = false;
};

/// The discrete problem A u = b on the free unknowns: the bilinear form, its loads, and the map from unknowns back to
/// dofs.
class Problem {
 public:
  /// A component of the mesh without Dirichlet or Robin condition.
  struct Floating {
    std::vector<std::int32_t> cells;  ///< of this process, like the dofs
    std::vector<std::int32_t> dofs;
    std::string text;  ///< description of this part of the mesh; empty if it is the whole
  };

  /// Builds form and loads. `data` and `space` must outlive this object. Throws InputError if a group or region does
  /// not exist, diffusion is not positive, transfer is negative, a value is not finite, or the load of a pure Neumann
  /// problem does not balance.
  ///
  /// `shared`: dofs shared with other processes, if the space is on a subdomain; it must outlive this object too. The
  /// constructor is then collective. The load is that of the whole problem at all dofs of this process.
  Problem(const ProblemData& data, const mesh::FunctionSpace& space, const operators::SharedDofs& shared = alone);

  const ProblemData& data() const { return *data_; }
  const operators::SharedDofs& shared() const { return *shared_; }
  const operators::BilinearForm& form() const { return form_; }
  /// At least one load.
  const std::vector<Load>& loads() const { return loads_; }
  /// Locations of ProblemData::points.
  const LocatedPoints& points() const { return points_; }
  /// Vector of the first load.
  const mesh::Array<double>& load() const { return loads_.front().values(); }
  /// Every boundary facet with its condition, in the order of cells.
  const std::vector<ConditionedFacet>& boundary() const { return conditions_; }
  const std::vector<DirichletDof>& dirichlet_dofs() const { return dirichlet_dofs_; }
  /// Overridden conditions of Dirichlet dofs with several: pairs (number of the Dirichlet dof, condition), sorted.
  const std::vector<std::pair<std::int32_t, int>>& earlier_conditions() const { return earlier_conditions_; }
  const UnitBoundary& unit_boundary() const { return unit_boundary_; }
  /// Warnings for the user: mean values that were fixed, and those of the loads.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Number of connected components of the mesh over all processes, and the component of each cell of this process
  /// (empty if there is one component).
  std::int32_t components() const { return components_; }
  std::span<const std::int32_t> component_of_cell() const { return component_of_cell_; }
  /// True if constants are in the kernel on some component of the mesh.
  bool singular() const { return !floating_.empty(); }
  const std::vector<Floating>& floating() const { return floating_; }
  /// Integral of each dof's basis function, if the problem is singular.
  const mesh::Array<double>& masses() const { return masses_; }

  /// Coefficients of all dofs: unknowns from x, constrained dofs from the load's boundary values. On floating
  /// components the mean is set to that of the exact solution if there is one, else to zero. Reuses the memory of
  /// `room` if it has a value for each dof.
  std::vector<double> to_dofs(std::span<const double> x, const Load& load, std::vector<double> room = {}) const;
  std::vector<double> to_dofs(std::span<const double> x) const { return to_dofs(x, loads_.front()); }
  /// The inverse map, which drops constrained dofs.
  std::vector<double> to_unknowns(std::span<const double> dofs) const;
  /// r = b - A x on one process, computed directly from the form. b may be a multiple of a load.
  std::vector<double> residual(std::span<const double> x, std::span<const double> b) const;

 private:
  /// A node of a cell.
  struct CellNode {
    std::int32_t cell;
    int node;
  };
  void set_diffusion();
  void check_diffusion();
  void constrain();
  void constrain_by_facets(std::vector<CellNode>& nodes);
  void hold(std::int32_t number, int condition);
  void constrain_by_others(std::vector<CellNode>& nodes);
  void locate(const std::vector<CellNode>& nodes);
  void number_unknowns();
  void collect_robin();
  void find_components();
  std::string text_of_part(const std::vector<std::int32_t>& cells, std::int64_t count) const;

  static const operators::SharedDofs alone;

  const ProblemData* data_;
  const mesh::FunctionSpace* space_;
  const operators::SharedDofs* shared_;
  std::vector<ConditionedFacet> conditions_;
  std::vector<DirichletDof> dirichlet_dofs_;
  std::vector<std::pair<std::int32_t, int>> earlier_conditions_;
  operators::BilinearForm form_;
  std::int32_t components_ = 1;
  std::vector<std::int32_t> component_of_cell_;
  std::vector<Floating> floating_;
  mesh::Array<double> masses_;
  UnitBoundary unit_boundary_;
  std::vector<std::string> warnings_;
  LocatedPoints points_;
  std::vector<Load> loads_;
};

}  // namespace femcg::solver

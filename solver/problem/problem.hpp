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
#include "solver/problem/unit_boundary.hpp"

namespace femcg::solver {

/// The entry of `boundary` that holds where no other does.
inline constexpr const char* every_group = "all";

/// A boundary facet and the condition that holds there.
struct ConditionedFacet {
  mesh::BoundaryFacet facet;
  int condition = -1;  ///< its number in ProblemData::boundary; none where the boundary is insulated
  BoundaryKind kind = BoundaryKind::flux;

  bool insulated() const { return condition < 0; }
};

/// A dof whose value is prescribed, at a point, by a condition; where several meet, by the last of them.
struct DirichletDof {
  std::int32_t dof;
  int condition;
  std::array<double, 3> point;
};

/// The numbers by which a person knows a problem.
struct ProblemSize {
  int dimension = 0;
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  std::int64_t cells = 0;
  int degree = 0, geometric_order = 1, quadrature = 0;
  std::int64_t dofs = 0, unknowns = 0;
};

/// The discrete problem A u = b on the free unknowns: the bilinear form, its loads, and the way back from unknowns to
/// dofs.
class Problem {
 public:
  /// A component of the mesh without Dirichlet or Robin condition.
  struct Floating {
    std::vector<std::int32_t> cells;  ///< of this process, as the dofs
    std::vector<std::int32_t> dofs;
    std::string text;  ///< which part of the mesh it is; empty where it is all
  };

  /// Builds form and loads. `data` and `space` must outlive it. Throws InputError where a group or region does not
  /// exist, diffusion is not positive, transfer is negative, a value is not finite, or a pure Neumann problem's load
  /// does not balance.
  ///
  /// `shared` says which dofs other processes have as well, where the space is on a part of a mesh; it must outlive the
  /// problem, too, which is then made together. Its load is that of the whole problem at all dofs that are here.
  Problem(const ProblemData& data, const mesh::FunctionSpace& space, const operators::SharedDofs& shared = alone);

  const ProblemData& data() const { return *data_; }
  const operators::SharedDofs& shared() const { return *shared_; }
  const operators::BilinearForm& form() const { return form_; }
  /// One at least.
  const std::vector<Load>& loads() const { return loads_; }
  /// The vector of the first load.
  const mesh::Array<double>& load() const { return loads_.front().values(); }
  /// Every boundary facet with its condition, in the order of cells.
  const std::vector<ConditionedFacet>& boundary() const { return conditions_; }
  const std::vector<DirichletDof>& dirichlet_dofs() const { return dirichlet_dofs_; }
  /// The earlier conditions where several meet: the number of a Dirichlet dof and a condition, sorted.
  const std::vector<std::pair<std::int32_t, int>>& earlier_conditions() const { return earlier_conditions_; }
  const UnitBoundary& unit_boundary() const { return unit_boundary_; }
  /// Sentences a user should read: mean values fixed, and those of the loads.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Connected components of the mesh, those of all processes; and that of each cell here, empty where there is one.
  std::int32_t components() const { return components_; }
  std::span<const std::int32_t> component_of_cell() const { return component_of_cell_; }
  /// True if constants are in the kernel on some part of the mesh.
  bool singular() const { return !floating_.empty(); }
  const std::vector<Floating>& floating() const { return floating_; }
  /// The integral of each dof's basis function, where the problem is singular.
  const mesh::Array<double>& masses() const { return masses_; }

  /// Coefficients of all dofs: unknowns from x, constrained ones from the load's boundary values; on parts without any
  /// Dirichlet or Robin condition the mean is set to that of the exact solution where there is one, else to zero. In
  /// the memory of `room`, where that has a number for each dof.
  std::vector<double> to_dofs(std::span<const double> x, const Load& load, std::vector<double> room = {}) const;
  std::vector<double> to_dofs(std::span<const double> x) const { return to_dofs(x, loads_.front()); }
  /// The way back, which leaves constrained dofs out.
  std::vector<double> to_unknowns(std::span<const double> dofs) const;
  /// r = b - A x, computed afresh from the form, of one process. b may be a multiple of a load.
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
  std::vector<Load> loads_;
};

}  // namespace femcg::solver

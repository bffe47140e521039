#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "operators/operator.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/problem/memory_estimate.hpp"

namespace femcg::solver {

/// L2 projection of a field that jumps between cells onto the continuous functions of the space's degree in each
/// region,
///
///   integral of sigma v = integral of f v   for all v of the region,
///
/// a weighted mean of the cells' values at common nodes. Between regions sigma may jump, as a gradient does where the
/// diffusion jumps. The assembled mass matrix, a block per region, is solved by CG.
class Recovery {
 public:
  /// Recovery for the form of a problem: its mesh, degree and quadrature, which is exact for the mass matrix if the
  /// cells are affine. The form must outlive this object.
  explicit Recovery(const operators::BilinearForm& form);
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// Space of the projections. Its mesh is cut along the interfaces of regions; its cells are unchanged.
  const mesh::FunctionSpace& space() const { return *form_.space; }
  /// Memory of project() for `fields` fields.
  MemoryEstimate need(int fields) const;

  /// Writes a field's values at the quadrature points of one cell (CellEvaluator's); called concurrently.
  using Values = std::function<void(std::int32_t cell, std::span<double> values)>;
  /// Coefficients of each field in space(); 0 for a field that is not finite, such as from a CG that overflowed. Throws
  /// MachineError if CG fails.
  std::vector<std::vector<double>> project(std::span<const Values> fields);

 private:
  void make_operator();
  mesh::Array<double> moments_of(const Values& field) const;

  mesh::Mesh cut_mesh_;  ///< empty if there is one region
  std::unique_ptr<mesh::FunctionSpace> cut_space_;
  operators::BilinearForm form_;  ///< without boundary conditions: every dof is an unknown
  std::unique_ptr<operators::Operator<double>> mass_;
  std::unique_ptr<Preconditioner<double>> preconditioner_;
};

}  // namespace femcg::solver

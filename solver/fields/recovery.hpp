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

/// A field that jumps from cell to cell, made continuous within each region: its L2 projection onto the continuous
/// functions of the space's degree there,
///
///   integral of sigma v = integral of f v   for all v of the region,
///
/// the mean of what cells have at their common nodes, weighted as the finite elements weigh it. Across the faces
/// between regions sigma may jump, as a gradient does where the diffusion does. A system with a mass matrix, which is
/// assembled and solved by CG; regions are blocks of one matrix.
class Recovery {
 public:
  /// Recovery for the form of a problem: its mesh, degree and quadrature, which is exact for the mass matrix where the
  /// cells are affine. The form must outlive it.
  explicit Recovery(const operators::BilinearForm& form);
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// The functions that it projects onto. The mesh is cut along the faces between regions; cells are as they were.
  const mesh::FunctionSpace& space() const { return *form_.space; }
  /// Memory of project() for so many fields.
  MemoryEstimate need(int fields) const;

  /// Writes a field's values at the quadrature points of one cell (CellEvaluator's); called from several threads.
  using Values = std::function<void(std::int32_t cell, std::span<double> values)>;
  /// The coefficients of each field in space(); 0 of one that is not finite, as that of a CG that overflowed. Throws
  /// MachineError where CG fails.
  std::vector<std::vector<double>> project(std::span<const Values> fields);

 private:
  void make_operator();
  mesh::Array<double> moments_of(const Values& field) const;

  mesh::Mesh cut_mesh_;  ///< empty where there is one region
  std::unique_ptr<mesh::FunctionSpace> cut_space_;
  operators::BilinearForm form_;  ///< of the space alone: every dof is an unknown
  std::unique_ptr<operators::Operator<double>> mass_;
  std::unique_ptr<Preconditioner<double>> preconditioner_;
};

}  // namespace femcg::solver

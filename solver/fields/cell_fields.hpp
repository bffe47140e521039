#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mesh/vtu.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/problem/cell_gradient.hpp"

namespace femcg::solver {

/// Fields of cells at the nodes of their VTK Lagrange cells of the space's degree. Spaces and coefficients must outlive
/// what is made of them.
class CellFields {
 public:
  explicit CellFields(const mesh::FunctionSpace& space);

  /// The cells of the mesh, each with points of its own.
  mesh::SeparateCells cells() const;
  /// A function of a space of the same mesh and degree, by the coefficients of each of its components.
  std::function<mesh::NodeValues()> function(const mesh::FunctionSpace& space,
                                             std::vector<std::span<const double>> components) const;
  /// grad u.
  std::function<mesh::NodeValues()> gradient(std::span<const double> dofs) const;
  /// -kappa grad u.
  std::function<mesh::NodeValues()> flux(std::span<const double> dofs, const FieldOnRegions& diffusion) const;
  /// |v| of such a vector v.
  std::function<mesh::NodeValues()> magnitude(std::function<mesh::NodeValues()> vector) const;

 private:
  std::shared_ptr<const GradientTables> tables_;  ///< at the nodes; what is made here shares them
  std::shared_ptr<const Eigen::MatrixXd> basis_;  ///< nodes x dofs of a cell
};

}  // namespace femcg::solver

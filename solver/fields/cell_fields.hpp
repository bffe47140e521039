#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mesh/vtu/vtu.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/fields/file_cells.hpp"
#include "solver/measures/cell_gradient.hpp"

namespace femcg::solver {

/// Fields of the cells of a file, by their number there, at the nodes of their VTK cells. Spaces and coefficients must
/// outlive what is made of them.
class CellFields {
 public:
  CellFields(const mesh::FunctionSpace& space, const FileCells& cells);

  /// Each with points of its own.
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
  FileCells cells_;
  std::shared_ptr<const GradientTables> tables_;  ///< at the nodes; what is made here shares them
  std::shared_ptr<const Eigen::MatrixXd> basis_;  ///< nodes x dofs of a cell
};

}  // namespace femcg::solver

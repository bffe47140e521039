#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mesh/vtu/vtu.hpp"
#include "solver/coefficients/field.hpp"
#include "solver/fields/file_cells.hpp"
#include "solver/measures/cell_gradient.hpp"

namespace femcg::solver {

/// Fields at the nodes of VTK cells, by cell number in the file. Spaces and coefficients must outlive the functions
/// made here.
class CellFields {
 public:
  CellFields(const mesh::FunctionSpace& space, const FileCells& cells);

  /// Cells that share no points.
  mesh::SeparateCells cells() const;
  /// Function of a space of the same mesh and degree, from the coefficients of each component.
  std::function<mesh::NodeValues()> function(const mesh::FunctionSpace& space,
                                             std::vector<std::span<const double>> components) const;
  /// grad u.
  std::function<mesh::NodeValues()> gradient(std::span<const double> dofs) const;
  /// -kappa grad u.
  std::function<mesh::NodeValues()> flux(std::span<const double> dofs, const DiffusionOnRegions& diffusion) const;
  /// |v| of a vector field v.
  std::function<mesh::NodeValues()> magnitude(std::function<mesh::NodeValues()> vector) const;

 private:
  FileCells cells_;
  std::shared_ptr<const GradientTables> tables_;  ///< at the nodes; shared by the functions made here
  std::shared_ptr<const Eigen::MatrixXd> basis_;  ///< nodes x dofs of a cell
};

}  // namespace femcg::solver

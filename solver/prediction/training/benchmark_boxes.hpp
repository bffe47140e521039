#pragma once

#include <string>

#include "mesh/dofs/function_space.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// A unit square or cube of finite elements for measurements, with equally many cells along each edge such that there
/// are about `dofs` dofs.
struct BenchmarkBox {
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  int degree = 1;
  double dofs = 1;  ///< approximate
  double distort = 0;

  std::string mesh_text() const;  ///< as in mesh.box
  Case resolved() const;
};

/// Approximate mean number of entries per row of the Laplacian on such a box.
double entries_of_row(mesh::CellShape shape, int degree);

/// The form -laplace(u), either with every dof an unknown or with u = 0 at x = 0. `space` must outlive it.
operators::BilinearForm laplacian(const mesh::FunctionSpace& space, bool constrained);

/// The pattern of the form's matrix, with all values 1: the time of a product does not depend on them.
operators::CsrMatrix<double> matrix_of_ones(const operators::BilinearForm& form);

}  // namespace femcg::solver

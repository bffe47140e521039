#pragma once

#include <string>

#include "mesh/dofs/function_space.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/case.hpp"

namespace femcg::solver {

/// A unit square or cube of finite elements to measure on: as many cells along each edge as come near to so many dofs.
struct BenchmarkBox {
  mesh::CellShape shape = mesh::CellShape::quadrilateral;
  int degree = 1;
  double dofs = 1;  ///< about
  double distort = 0;

  std::string mesh_text() const;  ///< as mesh.box says it
  Case resolved() const;
};

/// Entries of a row of the Laplacian on such a box in the mean, about.
double entries_of_row(mesh::CellShape shape, int degree);

/// -laplace(u), either with every dof an unknown or with u = 0 where x = 0. `space` must outlive it.
operators::BilinearForm laplacian(const mesh::FunctionSpace& space, bool constrained);

/// The pattern of its matrix, with values that are all 1: what a product takes does not depend on them.
operators::CsrMatrix<double> matrix_of_ones(const operators::BilinearForm& form);

}  // namespace femcg::solver

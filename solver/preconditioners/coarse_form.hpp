#pragma once

#include <memory>
#include <optional>

#include "mesh/dofs/function_space.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::solver {

/// A form on a coarse level, and the transfer to it from the form of the level before.
struct CoarseForm {
  std::unique_ptr<const mesh::Mesh> mesh;  ///< null where the cells are the same
  std::unique_ptr<const mesh::FunctionSpace> space;
  operators::BilinearForm form;
  operators::CellTransferTables transfer;  ///< unknowns in the natural order of both forms
};

/// The same problem in a lower degree on the same cells, curved ones included. A node is constrained where those of
/// `fine` in the interior of the same vertex, edge, face or cell are, so that the spaces are nested. `fine` must
/// outlive it.
std::unique_ptr<CoarseForm> lower_degree(const operators::BilinearForm& fine, int degree);

/// The same problem, of degree 1, on a box with half as many cells along each axis along which cells are at most half
/// as long again as along the shortest: point smoothers act along these alone. Null where `fine` is on no box of
/// quadrilaterals or hexahedra, where the number of cells along such an axis is odd, or where the diffusion in the
/// cells that are joined differs by more than a factor of 4: it is then better averaged by Galerkin products.
/// `fine` must outlive it.
std::unique_ptr<CoarseForm> coarser_box(const operators::BilinearForm& fine);

}  // namespace femcg::solver

#pragma once

#include <memory>
#include <optional>

#include "mesh/dofs/function_space.hpp"
#include "mesh/parts/mesh_part.hpp"
#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/maps/shared_dofs.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "operators/transfers/cell_transfer.hpp"

namespace femcg::solver {

/// The part that this process has of a form; one process alone has no subdomain.
struct PartOfForm {
  const operators::Communicator* processes = &operators::Communicator::alone();
  const mesh::MeshPart* part = nullptr;
  const operators::FormSubdomain* subdomain = nullptr;  ///< of the form on that part

  bool alone() const { return subdomain == nullptr; }
};

/// A form on a coarse level, and the transfer to it from the form of the level before.
struct CoarseForm {
  std::unique_ptr<const mesh::Mesh> mesh;  ///< null where the cells are the same
  std::unique_ptr<const mesh::FunctionSpace> space;
  operators::BilinearForm form;
  std::unique_ptr<const operators::SharedDofs> shared;  ///< of several processes, as the subdomain
  std::optional<const operators::FormSubdomain> subdomain;
  operators::CellEmbedding transfer;  ///< refers to this form and to the one before
};

/// The nodes of a form's cells, for a transfer. The form must outlive them.
operators::NodesOfCells nodes_of(const operators::BilinearForm& form);

/// How a form of a lower degree is integrated: exactly for its degree, or at the points of the finer form.
enum class LowerQuadrature { of_degree, of_fine };

/// The same problem in a lower degree on the same cells, curved ones included. A node is constrained where those of
/// `fine` in the interior of the same vertex, edge, face or cell are, so that the spaces are nested. `fine`, and
/// what this process has of it where several do, must outlive it. With the quadrature of `fine` the form is its
/// Galerkin product. Collective.
std::unique_ptr<CoarseForm> lower_degree(const operators::BilinearForm& fine, int degree, const PartOfForm& of = {},
                                         LowerQuadrature quadrature = LowerQuadrature::of_degree);

/// The same problem, of degree 1, on a box with half as many cells along each axis along which cells are at most half
/// as long again as along the shortest: point smoothers act along these alone. Of an odd number the wider of the two at
/// the ends stays as it is. Null where `fine` is on no box of quadrilaterals or hexahedra, or where the diffusion in
/// the cells that are joined differs by more than a factor of 4: it is then better averaged by Galerkin products.
/// `fine` must outlive it.
std::unique_ptr<CoarseForm> coarser_box(const operators::BilinearForm& fine);

}  // namespace femcg::solver

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

/// This process's part of a form; a single process has no subdomain.
struct PartOfForm {
  const operators::Communicator* processes = &operators::Communicator::alone();
  const mesh::MeshPart* part = nullptr;
  const operators::FormSubdomain* subdomain = nullptr;  ///< of the form on that part

  bool alone() const { return subdomain == nullptr; }
};

/// A form on a coarse level, and the transfer to it from the next finer form.
struct CoarseForm {
  std::unique_ptr<const mesh::Mesh> mesh;  ///< null if the cells are the same
  std::unique_ptr<const mesh::FunctionSpace> space;
  operators::BilinearForm form;
  std::unique_ptr<const operators::SharedDofs> shared;  ///< on several processes, like the subdomain
  std::optional<const operators::FormSubdomain> subdomain;
  operators::CellEmbedding transfer;  ///< refers to this form and to the finer one
};

/// Nodes of a form's cells, for a transfer. The form must outlive the result.
operators::NodesOfCells nodes_of(const operators::BilinearForm& form);

/// Quadrature of a form of lower degree: exact for its degree, or at the points of the finer form.
enum class LowerQuadrature { of_degree, of_fine };

/// The same problem in a lower degree on the same cells, curved ones included. A node is constrained if the nodes of
/// `fine` inside the same vertex, edge, face or cell are, so that the spaces are nested. `fine`, and this process's
/// part `of` it, must outlive the result. With the quadrature of `fine` the form is its Galerkin product. Collective.
std::unique_ptr<CoarseForm> lower_degree(const operators::BilinearForm& fine, int degree, const PartOfForm& of = {},
                                         LowerQuadrature quadrature = LowerQuadrature::of_degree);

/// The same problem, of degree 1, on a coarser box: cells are merged in pairs along those axes where they are at most
/// 1.5 times as long as along the shortest axis, because point smoothers act along these only. If their number is odd,
/// the wider of the two end cells is not merged. Null if `fine` is not on a box of quadrilaterals or hexahedra, or if
/// the diffusion of merged cells differs by more than a factor of 4: Galerkin products then average it better. `fine`
/// must outlive the result.
std::unique_ptr<CoarseForm> coarser_box(const operators::BilinearForm& fine);

}  // namespace femcg::solver

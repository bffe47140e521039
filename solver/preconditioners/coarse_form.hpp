#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
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
  std::unique_ptr<const mesh::MeshPart> part;  ///< coarse cells; null if the cells are the same
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

/// Largest ratio of the diffusion of cells that are merged.
inline constexpr double most_diffusion_ratio = 4;

/// Axes of a box along which cells of these mean widths are merged in pairs: 2, others 1. A point smoother acts along
/// axes on which cells are short, at most 1.5 times as long as on the shortest.
std::array<int, 3> merging_ratios(const std::array<double, 3>& widths, const mesh::GridIndex& cells, int dimension);

/// The cells along an axis of a box, merged in groups of `ratio`. If their number is odd, one end cell is not merged.
struct MergedAxis {
  int ratio = 1;
  std::int32_t cells = 1;
  int first_alone = 0;  ///< 1 if the first cell is not merged

  std::int32_t groups() const { return (cells + ratio - 1) / ratio; }
  /// First cell of a group; `cells` for the number of groups.
  std::int32_t begin(std::int32_t group) const { return std::clamp(group * ratio - first_alone, 0, cells); }
  std::int32_t group_of(std::int32_t cell) const { return (cell + first_alone) / ratio; }
};
/// Does not merge the wider one of two end cells, so that none stays thin over several levels.
MergedAxis merged_axis(int ratio, std::int32_t cells, double first_width, double last_width);

/// Mean over the cells of a tensor's diffusion along each axis, up to one factor; 1 for all axes where it is a multiple
/// of the identity.
std::array<double, 3> diffusion_along_axes(const operators::BilinearForm& form);
/// Diffusion at the centre of a cell.
operators::DiffusionValue diffusion_at_centre(const operators::BilinearForm& form, std::int32_t cell);

/// The same problem, of degree 1, on a coarser box: cells are merged along the axes of merging_ratios, for widths
/// relative to the square roots of diffusion_along_axes. If their number
/// is odd, one end cell is not merged, the wider one on a single process. Null if `fine` is not on a box of
/// quadrilaterals or hexahedra, if the diffusion of merged cells differs by more than a factor of 4 (Galerkin products
/// then average it better), or if cells of two processes would be merged. `fine`, and this process's part `of` it, must
/// outlive the result. Collective.
std::unique_ptr<CoarseForm> coarser_box(const operators::BilinearForm& fine, const PartOfForm& of = {});

}  // namespace femcg::solver

#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mesh/structured_grid.hpp"
#include "operators/transfers/level_ordering.hpp"
#include "operators/transfers/transfer.hpp"

namespace femcg::operators {

/// The nodes of the coarse cells as unknowns of one level.
struct NodesOfCells {
  std::int32_t unknowns = 0;
  int count = 0;                                 ///< per cell
  std::span<const std::int32_t> unknown_of_dof;  ///< negative for none
  /// The dofs of a cell: by `grid` if it is not null, else by `listed`, [cells][count], if it is not empty, else by
  /// `write`. Negative where a cell has no such node.
  const mesh::GridDofs* grid = nullptr;
  std::span<const std::int32_t> listed;
  std::function<void(std::int32_t cell, std::int32_t* dofs)> write;
};

/// A transfer by cells: in every coarse cell, values at fine nodes are E times those at the cell's coarse nodes, with
/// E_ij = coarse basis function j at fine node i. Fine nodes are those of the cell itself at a higher degree, or those
/// of the cells that it was split into. Referenced data must outlive the object.
struct CellEmbedding {
  std::int32_t cells = 0;
  NodesOfCells fine, coarse;
  std::vector<float> values;             ///< E, [fine nodes][coarse nodes]
  std::span<const std::int32_t> ghosts;  ///< fine unknowns that other processes own
};

/// Tables of a transfer on the host, cells in the order of the mesh. A fine unknown is owned by the first cell that has
/// it.
struct CellTransferTables {
  std::int32_t coarse_size = 0;
  int coarse_nodes = 0;              ///< per cell
  Vector<std::int32_t> coarse;       ///< [cells][coarse nodes]: unknown, -1 for none
  Vector<std::int32_t> owned_begin;  ///< [cells + 1]: begin of each cell's owned unknowns
  Vector<std::int32_t> owned;        ///< [fine unknowns without ghosts]
  Vector<std::uint8_t> node;         ///< of each owned unknown, its row of E

  std::int32_t cells() const { return static_cast<std::int32_t>(owned_begin.size()) - 1; }
};

/// Lists the cells that own unknowns; unknowns are numbered as in the forms.
CellTransferTables transfer_tables(const CellEmbedding& of);

/// Throws std::length_error if cells have 2^31 coarse nodes or more in all.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                const LevelOrdering& coarse, Device device);
/// The version for the GPU, which makes its tables there.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                     const LevelOrdering& coarse);

}  // namespace femcg::operators

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

/// The nodes of the coarse cells among the unknowns of one level.
struct NodesOfCells {
  std::int32_t unknowns = 0;
  int count = 0;                                 ///< of a cell
  std::span<const std::int32_t> unknown_of_dof;  ///< negative where there is none
  /// The dofs of a cell: of a structured grid where it is not null, listed [cells][count] where they are, else written,
  /// negative where a cell has no such node.
  const mesh::GridDofs* grid = nullptr;
  std::span<const std::int32_t> listed;
  std::function<void(std::int32_t cell, std::int32_t* dofs)> write;
};

/// A transfer by cells: in every coarse cell, values at fine nodes are E times those at the cell's coarse nodes, with
/// E_ij = coarse basis function j at fine node i. The fine nodes are those of the cell itself, of a higher degree, or
/// those of the cells that it was split into. What it refers to must outlive it.
struct CellEmbedding {
  std::int32_t cells = 0;
  NodesOfCells fine, coarse;
  std::vector<float> values;             ///< E, [fine nodes][coarse nodes]
  std::span<const std::int32_t> ghosts;  ///< fine unknowns that other processes own
};

/// A fine unknown is owned by the first cell that has it. On the host, cells in the order of the mesh.
struct CellTransferTables {
  std::int32_t coarse_size = 0;
  int coarse_nodes = 0;              ///< of a cell
  Vector<std::int32_t> coarse;       ///< [cells][coarse nodes]: unknown, -1 where there is none
  Vector<std::int32_t> owned_begin;  ///< [cells + 1]: where a cell's owned unknowns begin
  Vector<std::int32_t> owned;        ///< [fine unknowns without ghosts]
  Vector<std::uint8_t> node;         ///< of each, its row of E

  std::int32_t cells() const { return static_cast<std::int32_t>(owned_begin.size()) - 1; }
};

/// Lists the cells that own unknowns; these have the numbers of the forms.
CellTransferTables transfer_tables(const CellEmbedding& of);

/// Throws std::length_error where there are 2^31 places or more of coarse nodes in cells.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                const LevelOrdering& coarse, Device device);
/// The version for the GPU, which makes its tables there.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_cell_transfer(const CellEmbedding& embedding, const LevelOrdering& fine,
                                                     const LevelOrdering& coarse);

}  // namespace femcg::operators

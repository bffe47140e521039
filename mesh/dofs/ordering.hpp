#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/dofs/function_space.hpp"
#include "mesh/mesh.hpp"

namespace femcg::mesh {

/// Sorts the cells of a mesh along the Hilbert curve through their centres, so that neighbours in space are close in
/// memory. Renumbers the boundary groups accordingly.
void order_cells_along_curve(Mesh& mesh);

/// Reverse Cuthill-McKee order of a symmetric sparsity pattern (rows x rows, CSR without values; with or without the
/// diagonal), component by component: entry i is the new number of row i. For an unsymmetric pattern also a
/// permutation, but one that need not reduce the bandwidth. Cuthill & McKee 1969, George 1971, George & Liu 1979.
std::vector<std::int32_t> reverse_cuthill_mckee(std::span<const std::int64_t> row_offsets,
                                                std::span<const std::int32_t> columns);

/// Largest |i - j| of an entry (i, j).
std::int32_t bandwidth(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns);

/// Uniform refinement: every cell becomes 2^d cells of the same order; curved geometry is kept exactly.
Mesh refine(const Mesh& mesh);
/// The same, given the result of lattice_for_refinement: the space whose dofs are the nodes of the refined mesh, in
/// their order.
Mesh refine(const FunctionSpace& lattice);
FunctionSpace lattice_for_refinement(const Mesh& mesh);

}  // namespace femcg::mesh

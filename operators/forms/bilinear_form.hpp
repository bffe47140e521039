#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/dofs/function_space.hpp"
#include "operators/backend/vector.hpp"
#include "operators/forms/diffusion.hpp"

namespace femcg::operators {

/// A facet that carries a Robin term, with alpha at its quadrature points.
struct RobinFacet {
  std::int32_t cell;
  std::int32_t facet;
  std::vector<double> transfer;
};

/// a(u, v) = integral of (kappa grad u) . grad v + integral over Robin facets of alpha u v, on the free dofs of a
/// space.
///
/// The quadrature belongs to the form, so that all operators use the same one.
struct BilinearForm {
  const mesh::FunctionSpace* space = nullptr;
  int quadrature = 2;  ///< mesh::cell_quadrature's n
  Diffusion diffusion;
  std::vector<RobinFacet> robin;             ///< sorted by cell
  mesh::Array<std::int32_t> unknown_of_dof;  ///< negative for constrained dofs: -1, or -1 - k for the k-th of a Problem
  std::int32_t unknowns = 0;

  std::int32_t cells() const { return space->mesh().cell_count(); }
  int dofs_per_cell() const { return space->dofs_per_cell(); }
  /// The unknown at lattice node i of a cell; negative if it is constrained.
  std::int32_t unknown(std::int32_t cell, int i) const { return unknown_of_dof[space->dofs(cell)[i]]; }
  /// Calls work(i, unknown) for every lattice node i of a cell; `unknown` is negative if it is constrained.
  template <class Work>
  void for_nodes(std::int32_t cell, const Work& work) const {
    const mesh::CellDofs dofs = space->dofs(cell);
    for (std::size_t i = 0; i < dofs.size(); ++i) work(static_cast<int>(i), unknown_of_dof[dofs[i]]);
  }
  /// Calls work(unknown) for every unknown of a cell.
  template <class Work>
  void for_unknowns(std::int32_t cell, const Work& work) const {
    for_nodes(cell, [&](int, std::int32_t unknown) {
      if (unknown >= 0) work(unknown);
    });
  }
};

}  // namespace femcg::operators

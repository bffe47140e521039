#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "mesh/grid_indexing.hpp"
#include "operators/aggregation/rectangular_matrix.hpp"
#include "operators/forms/bilinear_form.hpp"
#include "solver/preconditioners/coarse_form.hpp"

namespace femcg::solver {

/// The grid of a box of degree 1 that several processes share, on all of them: what merging its cells takes.
struct GatheredBox {
  int dimension = 3;
  mesh::GridIndex cells{1, 1, 1};
  std::array<std::vector<double>, 3> positions;  ///< of the nodes along each axis
  int diffusion_axes = 1;                        ///< dimension for a tensor, else 1
  std::vector<double> diffusion;                 ///< along axes, [cells][diffusion_axes], x fastest
  std::vector<std::int32_t> unknown_of_node;     ///< global indices, x fastest; -1: none

  std::int32_t cell_count() const { return cells[0] * cells[1] * cells[2]; }
};

/// The box of a form of degree 1 on quadrilaterals or hexahedra; empty if the form has another mesh. Collective.
std::optional<GatheredBox> gathered_box(const operators::BilinearForm& form, const PartOfForm& of);

/// A coarser box and the prolongation from it [fine unknowns][coarse unknowns], linear along each merged axis.
struct MergedBox {
  GatheredBox box;
  operators::RectangularMatrix prolongation;
};

/// Merges cells by the rules of coarser_box; empty where these leave none to merge.
std::optional<MergedBox> merged(const GatheredBox& fine);

}  // namespace femcg::solver

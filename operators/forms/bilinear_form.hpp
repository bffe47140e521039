#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mesh/base/pages.hpp"
#include "mesh/dofs/function_space.hpp"
#include "operators/backend/vector.hpp"
#include "operators/forms/programs/point_program.hpp"

namespace femcg::operators {

/// Values of a coefficient at points of one cell; points are [count][3]. Called from several threads concurrently.
using Coefficient = std::function<void(std::int32_t cell, std::span<const double> points, std::span<double> values)>;

/// Rounds the coordinates of points at which a coefficient is evaluated. Their last bits depend on the order of sums,
/// and a coefficient that jumps at a point, x < 0.5 in the middle of a cell, would differ between operator and
/// preconditioner, GPU and processor.
class CoordinateRounding {
 public:
  /// Without rounding.
  CoordinateRounding() = default;
  /// To 2^-40 of the power of two above `largest_coordinate`.
  explicit CoordinateRounding(double largest_coordinate)
      : shift_(largest_coordinate > 0 ? std::ldexp(1.5, std::ilogb(largest_coordinate) + 13) : 0) {}
  constexpr double operator()(double x) const { return (x + shift_) - shift_; }

 private:
  double shift_ = 0;  ///< doubles near it are as far apart as rounded coordinates
};

/// A facet that carries a Robin term, with alpha at its quadrature points.
struct RobinFacet {
  std::int32_t cell;
  std::int32_t facet;
  std::vector<double> transfer;
};

/// a(u, v) = integral of kappa grad u . grad v + integral over Robin facets of alpha u v, on the free dofs of a space.
///
/// The quadrature belongs to the form, so that all operators use the same one.
struct BilinearForm {
  const mesh::FunctionSpace* space = nullptr;
  int quadrature = 2;  ///< mesh::cell_quadrature's n
  Coefficient diffusion;
  /// The diffusion of a cell if it is known to be constant there, which saves evaluating it at every point. May be
  /// empty. Called from several threads concurrently.
  std::function<std::optional<double>(std::int32_t cell)> constant_diffusion;
  /// The diffusion as a program per region of the mesh, for evaluation on a GPU; empty if it is not given by programs
  /// or is constant in each region.
  std::vector<PointProgram> diffusion_by_region;
  CoordinateRounding rounding;               ///< of the points of these programs; `diffusion` rounds its own
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

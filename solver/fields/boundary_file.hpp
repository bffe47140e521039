#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "mesh/vtu/vtu.hpp"
#include "solver/case/case.hpp"
#include "solver/fields/file_cells.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// Names of the regions and boundary groups by number: region_names and group_names.
std::vector<mesh::TextField> names_of_parts(const mesh::Mesh& mesh);

/// Name of the normal-flux field of a load.
std::string normal_flux_name(const std::string& load);

/// boundary.vtu: every facet of the boundary as a VTK cell, whose node order gives the outward normal by the right-hand
/// rule. The facets belong to FileCells' cells and have their degree.
///
/// Contains u and the outflow normal_flux = -kappa du/dn of each load: the consistent flux (BoundaryFlux). On each
/// facet it is the polynomial v of the solution's degree whose moments, the integrals of v phi_i, are given, so that
/// its integral is that of the table of groups with the opposite sign. Cell data: number of the group (the first of
/// several, -1 if none) and of the region.
class BoundaryFile {
 public:
  /// All arguments must outlive this object. Throws like FileCells.
  BoundaryFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem);

  bool empty() const { return facets_.empty(); }
  /// Writes the file for the solutions of the first loads.
  void write(std::ostream& stream, std::span<const std::vector<double>> solutions) const;

  /// Bytes before compression.
  std::int64_t expected_bytes() const;

 private:
  struct Nodes;

  std::vector<std::int32_t> group_of_facets() const;

  const OutputChoice* output_;
  const SolutionLabel* label_;
  const Problem* problem_;
  FileCells cells_;
  std::vector<std::int64_t> facets_;  ///< facets to write, ascending indices into the problem's boundary
};

}  // namespace femcg::solver

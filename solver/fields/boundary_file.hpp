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

/// The names that the numbers of regions and boundary groups stand for: region_names and group_names.
std::vector<mesh::TextField> names_of_parts(const mesh::Mesh& mesh);

/// The field of a load.
std::string normal_flux_name(const std::string& load);

/// boundary.vtu: every facet of the boundary as a VTK cell, its nodes such that the right-hand rule gives the outward
/// normal in space. Facets are those of FileCells' cells, at their degree.
///
/// It has u and normal_flux = -kappa du/dn, what flows out, of each load: the consistent flux (BoundaryFlux), on each
/// facet the polynomial v of the solution's degree with integral of v phi_i = its moments, so that it has the integral
/// that the table of groups has, with the opposite sign. A cell has the number of its group (of the first of several,
/// -1 of none) and of its region.
class BoundaryFile {
 public:
  /// All must outlive it. Throws as FileCells.
  BoundaryFile(const OutputChoice& output, const SolutionLabel& label, const Problem& problem);

  bool empty() const { return facets_.empty(); }
  /// Writes the file for the solutions of the first loads.
  void write(std::ostream& stream, std::span<const std::vector<double>> solutions) const;

  /// Before it is compressed.
  std::int64_t expected_bytes() const;

 private:
  struct Nodes;

  std::vector<std::int32_t> group_of_facets() const;

  const OutputChoice* output_;
  const SolutionLabel* label_;
  const Problem* problem_;
  FileCells cells_;
  std::vector<std::int64_t> facets_;  ///< those that are written, ascending in the problem's boundary
};

}  // namespace femcg::solver

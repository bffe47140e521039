#pragma once

#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "mesh/base/atomic_file.hpp"
#include "solver/case/case.hpp"
#include "solver/fields/file_cells.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// A file in pieces, one per process, which solution.pvtu or boundary.pvtu lists.
enum class Pieces { solution, boundary };
std::string pieces_file(Pieces of);
/// File name of a process's piece.
std::string piece_name(Pieces of, int rank);

/// One process's piece of solution.pvtu: u of each load; the exact solution and the error, if there is one; regions;
/// and the process number. The problem has this process's subdomain of the mesh.
class SolutionPiece {
 public:
  /// Selects the cells of the piece. Collective. If `files` is given, the piece is written into it. All arguments must
  /// outlive this object.
  SolutionPiece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, int rank,
                mesh::FileGroup* files = nullptr);
  SolutionPiece(const SolutionPiece&) = delete;
  SolutionPiece& operator=(const SolutionPiece&) = delete;

  /// The piece as .vtu with these solutions at all dofs of the problem; empty if it has no cells, or is written to the
  /// files.
  std::string text(std::span<const std::vector<double>> solutions);
  bool has_cells() const;

 private:
  void write(std::ostream& stream, std::span<const std::vector<double>> solutions) const;

  const OutputChoice* output_;
  const SolutionLabel* label_;
  const Problem* problem_;
  int rank_;
  mesh::FileGroup* files_;
  FileCells cells_;
};

/// One process's piece of boundary.pvtu, a BoundaryFile, as .vtu; empty without facets to write. Collective.
std::string boundary_piece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                           std::span<const std::vector<double>> solutions);

/// Content of the file that lists the pieces of these ranks, with the solutions of the first `solutions` loads.
std::string pieces_text(Pieces of, const SolutionLabel& label, const ProblemData& problem,
                        const std::vector<int>& ranks, std::size_t solutions);

/// Lets `files` remove the pieces of an earlier run, except those of ranks in `written`.
void leave_out_pieces(Pieces of, const std::filesystem::path& directory, const std::vector<int>& written,
                      mesh::FileGroup& files);

}  // namespace femcg::solver

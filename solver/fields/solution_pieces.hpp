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

/// A file in pieces, one of each process: solution.pvtu and boundary.pvtu, which name them.
enum class Pieces { solution, boundary };
std::string pieces_file(Pieces of);
/// File name of a process's piece.
std::string piece_name(Pieces of, int rank);

/// The piece of a process of solution.pvtu: u of each load, and of the exact solution, where there is one, that and the
/// error; regions, and the number of the process. The problem has this process's part of the mesh.
class SolutionPiece {
 public:
  /// Finds which cells it has; together. Where there are `files`, the piece becomes one of them. All must outlive it.
  SolutionPiece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem, int rank,
                mesh::FileGroup* files = nullptr);
  SolutionPiece(const SolutionPiece&) = delete;
  SolutionPiece& operator=(const SolutionPiece&) = delete;

  /// As .vtu, with these solutions, of all dofs of the problem; empty where there is no cell, or it is in the files.
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

/// The piece of a process of boundary.pvtu, a BoundaryFile, as .vtu; empty where it has no facet that is written.
/// Collective.
std::string boundary_piece(const OutputChoice& output, const SolutionLabel& label, const Problem& problem,
                           std::span<const std::vector<double>> solutions);

/// The file that names the pieces of these ranks, with the first so many loads' solutions.
std::string pieces_text(Pieces of, const SolutionLabel& label, const ProblemData& problem,
                        const std::vector<int>& ranks, std::size_t solutions);

/// Has the pieces of an earlier run go with its other files, but for those of ranks that are written now.
void leave_out_pieces(Pieces of, const std::filesystem::path& directory, const std::vector<int>& written,
                      mesh::FileGroup& files);

}  // namespace femcg::solver

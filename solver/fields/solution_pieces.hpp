#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mesh/atomic_file.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// A file in pieces, one of each process: solution.pvtu and boundary.pvtu, which name them.
enum class Pieces { solution, boundary };
std::string pieces_file(Pieces of);
/// Of the piece of a process.
std::string piece_name(Pieces of, int rank);

/// The piece of a process as .vtu; empty where it has none of the cells or facets that are written. Of the solution u
/// of each load, and of the exact solution, where there is one, that and the error; regions, and the number of the
/// process. Of the boundary a BoundaryFile. `solutions` are of all dofs of the problem, which has this process's part
/// of the mesh. Together.
std::string piece_text(Pieces of, const Case& resolved, const Problem& problem, int rank,
                       const std::vector<std::vector<double>>& solutions);

/// The file that names the pieces of these ranks, with the first so many loads' solutions.
std::string pieces_text(Pieces of, const Case& resolved, const std::vector<int>& ranks, std::size_t solutions);

/// Has the pieces of an earlier run go with its other files, but for those of ranks that are written now.
void leave_out_pieces(Pieces of, const std::filesystem::path& directory, const std::vector<int>& written,
                      mesh::FileGroup& files);

}  // namespace femcg::solver

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mesh/atomic_file.hpp"
#include "solver/case/case.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

/// The file that names the pieces of a solution, one of each process.
inline constexpr const char* pieces_file = "solution.pvtu";
/// Of the piece of a process.
std::string piece_name(int rank);

/// A piece as .vtu: u of each load on some cells, and of the exact solution, where there is one, that and the error;
/// regions, and the number of the process. `cells` are ascending numbers in the whole mesh, one at least; `solutions`
/// are of all dofs of the problem.
std::string piece_text(const Case& resolved, const Problem& problem, const std::vector<std::int32_t>& cells, int rank,
                       const std::vector<std::vector<double>>& solutions);

/// solution.pvtu for the pieces of these ranks, with the first so many loads' solutions.
std::string pieces_text(const Case& resolved, const std::vector<int>& ranks, std::size_t solutions);

/// Has the pieces of an earlier run go with its other files, but for those of ranks that are written now.
void leave_out_pieces(const std::filesystem::path& directory, const std::vector<int>& written, mesh::FileGroup& files);

}  // namespace femcg::solver

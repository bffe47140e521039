#pragma once

#include <cstdint>

#include "mesh/base/atomic_file.hpp"
#include "solver/problem/problem.hpp"

namespace femcg::solver {

inline constexpr const char* matrix_file = "system.mtx";
inline constexpr const char* load_file = "load.mtx";

/// Adds A and b of A u = b on the unknowns of a problem on one process, in natural order and in Matrix Market format:
/// the lower triangle of A, and a column of b per load. Dirichlet values are eliminated.
void add_system(const Problem& problem, mesh::FileGroup& group);

/// Approximate bytes of both files, before A is assembled.
std::int64_t bytes_of_system(const Problem& problem);

}  // namespace femcg::solver

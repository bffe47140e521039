#pragma once

#include <optional>
#include <string>

namespace femcg::tools {

/// Sets the number of threads of every parallel loop: `option` (--threads), else OMP_NUM_THREADS, else the number of
/// cores available to this process. Limited to that number, with a note: threads that share a core wait for each other.
/// Throws InputError if it is not a number.
void choose_threads(const std::optional<std::string>& option);

/// Prints a note if mpirun's default binding of one or two processes leaves cores of the host unused.
void note_binding();

}  // namespace femcg::tools

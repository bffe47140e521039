#pragma once

#include <optional>
#include <string>

namespace femcg::tools {

/// The number of threads of every parallel loop: `option` (--threads), else OMP_NUM_THREADS, else as many as there are
/// processors. Throws InputError where it is no number, or more than the machine can start.
void choose_threads(const std::optional<std::string>& option);

}  // namespace femcg::tools

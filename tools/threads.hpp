#pragma once

#include <optional>
#include <string>

namespace femcg::tools {

/// The number of threads of every parallel loop: `option` (--threads), else OMP_NUM_THREADS, else as many as there are
/// cores for this process, and never more, which a note says: threads that share a core wait for each other. Throws
/// InputError where it is no number.
void choose_threads(const std::optional<std::string>& option);

/// A note where mpirun, by its own default for one or two processes, leaves cores of the machine to nobody.
void note_binding();

}  // namespace femcg::tools

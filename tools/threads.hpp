#pragma once

#include <optional>
#include <string>

namespace femcg::tools {

/// The number of threads of every parallel loop: `option` (--threads), else OMP_NUM_THREADS, else as many as there are
/// processors. Throws InputError where it is no number, or more than the machine can start.
void choose_threads(const std::optional<std::string>& option);

/// Lets threads that wait for each other spin for a moment only, then sleep. By default libgomp has them spin for
/// milliseconds, which they take from each other where other programs run too, and for minutes where OMP_WAIT_POLICY is
/// active, which they take from the thread team of products. It reads its setting before main(), so that the program is
/// begun anew, once, with the same arguments; where the user chose otherwise (OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT)
/// or where that cannot be done, nothing happens. To be called before anything is printed or allocated.
void spin_briefly(char** arguments);

}  // namespace femcg::tools

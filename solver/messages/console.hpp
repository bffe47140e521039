#pragma once

#include <functional>

namespace femcg::solver {

/// Output of a command while it works.
struct Console {
  bool progress = false;  ///< on standard error: one live line on a terminal, else a line every ten seconds
  bool quiet = false;     ///< no summary on standard output
};

/// Polled by long loops; true once the user (Ctrl-C) or the system (SIGTERM) wants to stop.
using StopRequested = std::function<bool()>;

}  // namespace femcg::solver

#pragma once

#include <functional>

namespace femcg::solver {

/// How a command talks while it works.
struct Console {
  bool progress = false;  ///< on standard error: one live line on a terminal, else a line every ten seconds
  bool quiet = false;     ///< no summary on standard output
};

/// Asked often by long loops: true once the user wants to stop (Ctrl-C), or the system (SIGTERM).
using StopRequested = std::function<bool()>;

}  // namespace femcg::solver

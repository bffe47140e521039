#pragma once

#include <functional>
#include <string>

#include "solver/case.hpp"
#include "solver/error.hpp"

namespace femcg::solver {

/// How a command talks while it works.
struct Console {
  bool progress = false;  ///< one live line on standard error
  bool quiet = false;     ///< no summary on standard output
};

/// Asked often by long loops: true once the user wants to stop (Ctrl-C).
using StopRequested = std::function<bool()>;

/// `femcg run`: mesh, space, problem, operator, CG, report; writes the results folder.
ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop);

/// `femcg check`: everything that a case names is read and checked, nothing is solved or written. Remarks go to
/// standard error. Returns what memory a run would need, as comments of YAML.
std::string check(const Case& resolved, const Console& console);

}  // namespace femcg::solver

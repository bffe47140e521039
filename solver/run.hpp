#pragma once

#include <string>

#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"

namespace femcg::solver {

/// `femcg run`: mesh, space, problem, operator, CG, report; writes the results folder.
ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop);

/// `femcg check`: everything that a case names is read and checked, nothing is solved or written. Remarks go to
/// standard error. Returns what memory a run would need, as comments of YAML.
std::string check(const Case& resolved, const Console& console);

}  // namespace femcg::solver

#pragma once

#include <string>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/console.hpp"
#include "solver/messages/error.hpp"
#include "solver/messages/run_context.hpp"
#include "solver/records/record.hpp"
#include "solver/run/discretisation.hpp"

namespace femcg::solver {

/// `femcg run`: solves a case on all processes, each called with the same case; the first prints the summary and writes
/// the results folder. Throws InputError for options that several processes do not support (require_supported).
ExitStatus run(const Case& resolved, const Console& console, const StopRequested& stop,
               const operators::Communicator& processes = operators::Communicator::alone());

/// A run without printing; writes its results folder if `writes`. Collective; the record is complete on the first
/// process.
Record run_case(const Case& resolved, CachedParts& kept, bool writes, const RunContext& context);

/// `femcg check`: reads and checks everything that a case refers to; solves and writes nothing. Warnings go to standard
/// error. Returns the memory need of a run as YAML comments.
std::string check(const Case& resolved, const Console& console);

}  // namespace femcg::solver

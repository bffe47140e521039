#pragma once

#include <optional>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "solver/case/sweep.hpp"
#include "solver/compare/compare.hpp"
#include "solver/report/comparison_report.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// `femcg compare` on several processes, which all call it with the same points: every chosen operator on the devices
/// of all of them, each process with its share of the cells; checked against the reference, and timed by the slowest
/// process. The first one speaks and writes. Throws InputError for what needs one process.
ExitStatus compare_distributed(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                               const Console& console, const StopRequested& stop,
                               const operators::Communicator& communicator);

/// `femcg matrix` on several processes, in the same way: the first one reads the matrix, and each has some rows.
ExitStatus compare_matrix_distributed(const MatrixChoice& choice, const std::optional<Baseline>& baseline,
                                      const Console& console, const StopRequested& stop,
                                      const operators::Communicator& communicator);

}  // namespace femcg::solver

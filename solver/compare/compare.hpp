#pragma once

#include <filesystem>
#include <vector>

#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/case/sweep.hpp"
#include "solver/report/comparison_report.hpp"
#include "solver/run/run.hpp"

namespace femcg::solver {

/// `femcg compare`: for every point of a sweep one mesh, one right-hand side and every chosen operator on every chosen
/// device, checked against the reference and timed; prints a table a point and writes compare.json, compare.csv and
/// report.html into the results folder. What was measured is kept when the user interrupts.
///
/// Collective, with the same points on all processes: each has a subdomain of the mesh, times are those of the slowest,
/// and the first one prints and writes. Throws InputError for what needs one process.
ExitStatus compare(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                   const Console& console, const StopRequested& stop,
                   const operators::Communicator& communicator = operators::Communicator::alone());

/// A matrix from a file in the Matrix Market format. Throws InputError that names file and line.
operators::CsrMatrix<double> read_matrix(const std::filesystem::path& file);

/// Arguments of `femcg matrix`.
struct MatrixChoice {
  std::filesystem::path file;
  CompareChoice compare;
  std::vector<Precision> precisions{Precision::double_};
  bool reorder = false;                      ///< by reverse Cuthill-McKee
  std::vector<std::string> preconditioners;  ///< that A x = b is solved with besides; empty: CG without one is timed
  std::filesystem::path directory;
};

/// `femcg matrix`: the same for a matrix from a file and operators that are made from an assembled matrix; CG only
/// where it is symmetric with a positive diagonal. The right-hand side is A times ones. Of several processes the first
/// one reads the matrix, and each has some rows.
ExitStatus compare_matrix(const MatrixChoice& choice, const std::optional<Baseline>& baseline, const Console& console,
                          const StopRequested& stop,
                          const operators::Communicator& communicator = operators::Communicator::alone());

}  // namespace femcg::solver

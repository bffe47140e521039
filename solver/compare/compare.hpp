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
/// device, checked against the reference and timed. Prints a table per point and writes compare.json, compare.csv and
/// report.html into the results folder. If the user interrupts, what was measured is written.
///
/// Collective, with the same points on all processes: each has a subdomain of the mesh, times are those of the slowest
/// process, and the first process prints and writes. Throws InputError for options that need one process.
ExitStatus compare(const std::vector<SweepPoint>& points, const std::optional<Baseline>& baseline,
                   const Console& console, const StopRequested& stop,
                   const operators::Communicator& communicator = operators::Communicator::alone());

/// Reads a matrix from a file in the Matrix Market format. Throws InputError that names file and line.
operators::CsrMatrix<double> read_matrix(const std::filesystem::path& file);

/// Arguments of `femcg matrix`.
struct MatrixChoice {
  std::filesystem::path file;
  CompareChoice compare;
  std::vector<Precision> precisions{Precision::double_};
  bool reorder = false;                      ///< by reverse Cuthill-McKee
  std::vector<std::string> preconditioners;  ///< to solve A x = b with, in addition; empty: times CG without one
  std::filesystem::path directory;
};

/// `femcg matrix`: the same for a matrix from a file and operators made from an assembled matrix; CG only if the matrix
/// is symmetric with a positive diagonal. The right-hand side is A times ones. On several processes the first one reads
/// the matrix and distributes its rows.
ExitStatus compare_matrix(const MatrixChoice& choice, const std::optional<Baseline>& baseline, const Console& console,
                          const StopRequested& stop,
                          const operators::Communicator& communicator = operators::Communicator::alone());

}  // namespace femcg::solver

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/io/matrix_statistics.hpp"
#include "solver/compare/compare.hpp"
#include "solver/messages/progress.hpp"
#include "solver/records/result.hpp"

namespace femcg::solver {

/// Matrix that `femcg matrix` compares operators on.
struct MatrixInput {
  operators::CsrMatrix<double> matrix;
  std::shared_ptr<MatrixSource> source;
  std::shared_ptr<const operators::MatrixStatistics> statistics;
  std::vector<double> load;  ///< A times ones, so that ones solve A x = b
  std::string why_no_cg;     ///< empty if CG can solve A x = b
  Record common;             ///< part that all records share
};

/// Reads and reorders the matrix of a choice. Throws InputError that names file and line.
MatrixInput read_matrix_input(const MatrixChoice& choice, Progress& progress);

/// Warning about timing products without CG.
std::string products_only(const std::string& why_no_cg);

}  // namespace femcg::solver

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

/// The matrix that `femcg matrix` compares operators on.
struct MatrixInput {
  operators::CsrMatrix<double> matrix;
  std::shared_ptr<MatrixSource> source;
  std::shared_ptr<const operators::MatrixStatistics> statistics;
  std::vector<double> load;  ///< A times ones, so that ones solve A x = b
  std::string why_no_cg;     ///< empty where CG solves A x = b
  Record common;             ///< what all records have alike
};

/// Reads and reorders the matrix of a choice. Throws InputError that names file and line.
MatrixInput read_matrix_input(const MatrixChoice& choice, Progress& progress);

/// Said of products without CG.
std::string products_only(const std::string& why_no_cg);

}  // namespace femcg::solver

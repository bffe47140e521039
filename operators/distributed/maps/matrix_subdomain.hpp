#pragma once

#include <cstdint>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Rows of a square matrix that follow each other, those of one process.
struct RowBlock {
  std::vector<std::int32_t> firsts;  ///< the first row of each process, and behind them the number of all rows
  CsrMatrix<double> rows;            ///< of this process; columns are those of the whole matrix
};

/// Gives each process rows of the first one's matrix, about as many entries to each. Collective; the others' matrix is
/// not looked at.
RowBlock divide_rows(const Communicator& communicator, const CsrMatrix<double>& matrix);

/// The rows of one process as two square matrices on its unknowns: A is the sum of those of all processes. Unknowns are
/// owned with their rows. Interface rows are those of an unknown that rows of another process have a column of, and
/// those with such a column, or one that another process owns. A process's number of an unknown (IndexMap::unknowns)
/// counts from its first row on, and goes on with the ghosts.
struct MatrixSubdomain : Subdomain {
  CsrMatrix<double> interior, interface;
  std::int64_t interface_rows = 0;
};

/// Collective.
MatrixSubdomain subdomain_of(const Communicator& communicator, const RowBlock& block);

}  // namespace femcg::operators

#pragma once

#include <cstdint>
#include <vector>

#include "operators/distributed/maps/index_map.hpp"
#include "operators/distributed/messages/communicator.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// A contiguous range of the rows of a square matrix, those of one process.
struct RowBlock {
  std::vector<std::int32_t> firsts;  ///< the first row of each process, then the number of all rows
  CsrMatrix<double> rows;            ///< of this process; columns are global
};

/// Distributes the rows of the first process's matrix, with about as many entries for each process. `matrix` is ignored
/// on the others. Collective.
RowBlock divide_rows(const Communicator& communicator, const CsrMatrix<double>& matrix);

/// The rows of one process as two square matrices on its unknowns: A is the sum of those of all processes. Unknowns are
/// owned with their rows. A row is an interface row if its unknown or one of its columns is shared with another
/// process. IndexMap::unknowns counts from the process's first row on, followed by the ghosts.
struct MatrixSubdomain : Subdomain {
  CsrMatrix<double> interior, interface;
  std::int64_t interface_rows = 0;
};

/// Collective.
MatrixSubdomain subdomain_of(const Communicator& communicator, const RowBlock& block);

}  // namespace femcg::operators

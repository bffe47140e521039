#pragma once

#include <cstdint>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// a_ij, rows and columns from 0.
struct Entry {
  std::int32_t row;
  std::int32_t column;
  double value;
};

/// Entries in order, in pieces that need not be copied together.
using EntryBlocks = std::vector<Vector<Entry>>;

/// Meaning of an entry a_ij for a_ji, i != j: none, equal, opposite.
enum class Mirror { none, same, negated };

/// The rows x rows matrix of entries in any order; those of one place are added up in the order given, so that the
/// result does not depend on the number of threads. Zeros stay stored.
CsrMatrix<double> compress(std::int32_t rows, const EntryBlocks& entries, Mirror mirror);

}  // namespace femcg::operators

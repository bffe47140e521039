#pragma once

#include <cstdint>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Entry a_ij of a matrix, indices from 0.
struct Entry {
  std::int32_t row;
  std::int32_t column;
  double value;
};

/// Entries in order, in blocks, which saves copying them together.
using EntryBlocks = std::vector<Vector<Entry>>;

/// Value of a_ji implied by an entry a_ij, i != j: none, a_ij, -a_ij.
enum class Mirror { none, same, negated };

/// The rows x rows matrix of entries in any order; duplicates are added up in the given order, so that the result does
/// not depend on the number of threads. Explicit zeros stay stored.
CsrMatrix<double> compress(std::int32_t rows, const EntryBlocks& entries, Mirror mirror);

}  // namespace femcg::operators

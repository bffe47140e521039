#pragma once

#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Rows with the same columns, which are multiplied together. The dofs inside one edge, face or cell have such rows:
/// in hexahedra of degree 4 these are 3, 9 and 27 (compare the i-nodes of PETSc; Balay et al. 1997).
struct RowGroup {
  static constexpr int most_rows = 32;

  std::int64_t first_column;  ///< in SharedColumns::columns
  std::int32_t first_row;     ///< in SharedColumns::rows
  std::int32_t length;        ///< nonzeros of each row
  std::int32_t count;         ///< of rows
};

struct SharedColumns {
  Vector<RowGroup> groups;
  Vector<std::int32_t> columns;        ///< the list of one group after the other
  Vector<std::int32_t> rows;           ///< numbers of the rows of one group after the other
  Vector<std::int64_t> first_entries;  ///< of these rows, in the matrix
};

/// Every row in one group. Compared with each other are `window` rows at a time, those of a few cells, whose dofs are
/// numbered one after the other: rows of a group, and groups one after the other, keep to their window.
SharedColumns share_columns(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                            std::int64_t window = 4096);

/// Nonzeros over the columns that would be stored, from a sample of the rows: 1 where no two rows have the same.
double column_sharing(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns);

}  // namespace femcg::operators

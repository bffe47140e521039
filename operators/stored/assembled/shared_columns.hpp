#pragma once

#include <cstdint>
#include <span>

#include "operators/backend/vector.hpp"

namespace femcg::operators {

/// Rows with equal columns, which are multiplied together. The dofs inside one edge, face or cell have such rows: 3, 9
/// and 27 of them in hexahedra of degree 4 (compare the i-nodes of PETSc; Balay et al. 1997).
struct RowGroup {
  static constexpr int most_rows = 32;

  std::int64_t first_column;  ///< index in SharedColumns::columns
  std::int32_t first_row;     ///< index in SharedColumns::rows
  std::int32_t length;        ///< nonzeros of each row
  std::int32_t count;         ///< number of rows
};

struct SharedColumns {
  Vector<RowGroup> groups;
  Vector<std::int32_t> columns;        ///< list of columns of each group
  Vector<std::int32_t> rows;           ///< row numbers of each group
  Vector<std::int64_t> first_entries;  ///< first entry of each of these rows in the matrix
};

/// Partitions all rows into groups. Rows are compared within windows of `window` rows, those of a few cells, whose dofs
/// are numbered consecutively: groups, and their order, stay within windows.
SharedColumns share_columns(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                            std::int64_t window = 4096);

/// Nonzeros over the columns that would be stored, from a sample of the rows; 1 if no two rows have equal columns.
double column_sharing(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns);

}  // namespace femcg::operators

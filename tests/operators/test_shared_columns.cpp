// Rows with equal columns: every row is in one group with its columns, and there are as few columns as the mesh
// permits.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"
#include "operators/stored/assembled/shared_columns.hpp"
#include "tests/forms.hpp"

namespace {

using namespace femcg::operators;
using femcg::mesh::CellShape;
namespace tests = femcg::tests;

SharedColumns checked(std::span<const std::int64_t> offsets, std::span<const std::int32_t> columns) {
  SharedColumns shared = share_columns(offsets, columns);
  std::vector<int> seen(offsets.size() - 1, 0);
  std::int64_t placed = 0;
  std::int32_t first_row = 0;
  for (const RowGroup& group : shared.groups.span()) {
    CHECK(group.first_column == placed);
    CHECK(group.first_row == first_row);
    placed += group.length;
    first_row += group.count;
    REQUIRE(group.count >= 1);
    REQUIRE(group.count <= RowGroup::most_rows);
    for (int r = 0; r < group.count; ++r) {
      const std::int32_t row = shared.rows[group.first_row + r];
      ++seen[row];
      REQUIRE(offsets[row + 1] - offsets[row] == group.length);
      CHECK(shared.first_entries[group.first_row + r] == offsets[row]);
      CHECK(std::equal(columns.begin() + offsets[row], columns.begin() + offsets[row + 1],
                       shared.columns.data() + group.first_column));
    }
  }
  CHECK(placed == shared.columns.size());
  CHECK(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  return shared;
}

TEST_CASE("rows with the same columns, which need not follow each other, are one group") {
  // Rows 0, 2, 4, 5, 6 have columns 0 1; rows 1 and 7 have columns 0 2; row 3 is empty.
  const std::vector<std::int64_t> offsets{0, 2, 4, 6, 6, 8, 10, 12, 14};
  const std::vector<std::int32_t> columns{0, 1, 0, 2, 0, 1, 0, 1, 0, 1, 0, 1, 0, 2};
  const SharedColumns shared = checked(offsets, columns);
  REQUIRE(shared.groups.size() == 3);
  CHECK(shared.columns.size() == 4);
  CHECK(shared.groups[0].count == 5);
  CHECK(shared.groups[1].count == 2);
  CHECK(shared.rows[6] == 7);
  CHECK(shared.groups[2].length == 0);
  CHECK(column_sharing(offsets, columns) == doctest::Approx(14.0 / 4.0));
  CHECK(share_columns(std::vector<std::int64_t>{0}, {}).groups.size() == 0);
  CHECK(column_sharing(std::vector<std::int64_t>{0}, {}) == 1);
}

TEST_CASE("more rows than a warp has lanes are several groups, about equal") {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  for (int row = 0; row < 70; ++row) {
    columns.insert(columns.end(), {3, 5, 69});
    offsets.push_back(std::ssize(columns));
  }
  const SharedColumns shared = checked(offsets, columns);
  REQUIRE(shared.groups.size() == 3);
  for (const RowGroup& group : shared.groups.span()) CHECK(std::abs(group.count - 70.0 / 3) < 1);
}

TEST_CASE("rows are compared with those of their own window, and windows follow one another") {
  // Rows 0, 2, 3, 5 have column 0, rows 1 and 4 column 1; windows of three rows.
  const std::vector<std::int64_t> offsets{0, 1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> columns{0, 1, 0, 0, 1, 0};
  const SharedColumns shared = share_columns(offsets, columns, 3);
  REQUIRE(shared.groups.size() == 4);
  const std::array<std::int32_t, 6> rows{0, 2, 1, 3, 5, 4};
  CHECK(std::ranges::equal(shared.rows.span(), rows));
  CHECK(shared.groups[2].first_row == 3);
  CHECK(shared.groups[2].count == 2);
}

TEST_CASE("dofs inside one edge, face or cell share their columns") {
  for (int p = 1; p <= 4; ++p)
    for (const std::array cells : {std::array{3, 2, 2}, std::array{12, 9, 8}}) {
      CAPTURE(p);
      CAPTURE(cells[0]);
      const auto small = tests::make_form(CellShape::hexahedron, p, cells, {.constrained = false});
      const CsrMatrix<double> matrix = sparsity_pattern(small.form);
      const SharedColumns shared = checked(matrix.row_offsets.span(), matrix.columns.span());
      // Along one axis with n cells, a dof at an inner vertex couples with 2 p + 1 dofs, any other with p + 1; lists
      // are products over the axes. For p > 1 the dofs at both ends have the list of those inside their cell.
      std::int64_t lists = 1, entries = 1;
      for (const int n : cells) {
        lists *= (n - 1) * (2 * p + 1) + (p > 1 ? n : 2) * (p + 1);
        entries *= (n - 1) * (2 * p + 1) + (n * (p - 1) + 2) * (p + 1);
      }
      CHECK(matrix.nonzeros() == entries);
      if (matrix.rows <= 4096 && p < 4) {       // all rows are compared with each other
        CHECK(shared.columns.size() == lists);  // no list has more than 32 rows
      } else {
        CHECK(shared.columns.size() >= lists);
        CHECK(static_cast<double>(shared.columns.size()) <= 1.15 * static_cast<double>(lists));
      }
      const double sharing = static_cast<double>(entries) / static_cast<double>(shared.columns.size());
      CHECK(column_sharing(matrix.row_offsets.span(), matrix.columns.span()) == doctest::Approx(sharing).epsilon(0.1));
    }
}

}  // namespace

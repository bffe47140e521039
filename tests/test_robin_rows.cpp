// The rows of Robin terms against what they add to the assembled matrix.

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "operators/matrix_free/robin_rows.hpp"
#include "operators/sparse/csr_matrix.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;

TEST_CASE("the rows of Robin terms are what these add to the matrix") {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 2, 4}) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const auto with = tests::make_form(shape, degree, {4, 3, 3});
      const RobinRows robin = robin_rows(with.form);
      BilinearForm without_robin = with.form;
      without_robin.robin.clear();
      const CsrMatrix<double> a = assemble<double>(with.form, assemble_element_matrices(with.form)),
                              b = assemble<double>(without_robin, assemble_element_matrices(without_robin));
      REQUIRE(robin.offsets.size() == robin.rows.size() + 1);
      REQUIRE(robin.columns.size() == static_cast<std::size_t>(robin.offsets.back()));
      std::map<std::int32_t, std::map<std::int32_t, double>> rows;
      for (std::size_t k = 0; k < robin.rows.size(); ++k) {
        CHECK((k == 0 || robin.rows[k - 1] < robin.rows[k]));
        for (auto e = static_cast<std::size_t>(robin.offsets[k]); e < static_cast<std::size_t>(robin.offsets[k + 1]);
             ++e)
          CHECK(rows[robin.rows[k]].emplace(robin.columns[e], robin.values[e]).second);  // each column once
      }
      double largest = 0, difference = 0, sum = 0;
      for (std::int32_t row = 0; row < a.rows; ++row)
        for (std::int64_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
          REQUIRE(a.columns[k] == b.columns[k]);
          const double added = a.values[k] - b.values[k], found = rows[row][a.columns[k]];
          rows[row].erase(a.columns[k]);
          largest = std::max(largest, std::abs(added));
          difference = std::max(difference, std::abs(added - found));
          sum += found;
        }
      CHECK(largest > 0);
      CHECK(difference < 1e-12);
      for (const auto& [row, rest] : rows) CHECK(rest.empty());
    }
}

TEST_CASE("without Robin facets there are no rows") {
  const auto small = tests::make_form(mesh::CellShape::hexahedron, 2, {2, 2, 2}, {.robin = false});
  CHECK(robin_rows(small.form).rows.empty());
}

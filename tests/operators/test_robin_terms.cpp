// Robin terms in the GPU's layout, compared with their contribution to the assembled matrix.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "operators/cellwise/matrix_free/robin/robin_terms.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;

namespace {

/// Matrix of the terms by rows of positions, from the lists.
std::map<std::int32_t, std::map<std::int32_t, double>> matrix_of(const RobinTerms& terms) {
  std::map<std::int32_t, std::map<std::int32_t, double>> matrix;
  for (std::int64_t facet = 0; facet < terms.facets; ++facet)
    for (int a = 0; a < terms.nodes; ++a)
      for (int b = 0; b < terms.nodes; ++b) {
        const std::int32_t row = terms.positions[RobinTerms::place_of(facet, a, terms.nodes)];
        const std::int32_t column = terms.positions[RobinTerms::place_of(facet, b, terms.nodes)];
        if (row < 0 || column < 0) continue;
        for (int q = 0; q < terms.points; ++q)
          matrix[row][column] += terms.table[q * terms.nodes + a] * terms.table[q * terms.nodes + b] *
                                 terms.weights[RobinTerms::place_of(facet, q, terms.points)];
      }
  return matrix;
}

/// Difference between the matrix with and without Robin terms.
CsrMatrix<double> added_by_robin(const BilinearForm& with) {
  BilinearForm without = with;
  without.robin.clear();
  CsrMatrix<double> a = assemble<double>(with, assemble_element_matrices(with));
  const CsrMatrix<double> b = assemble<double>(without, assemble_element_matrices(without));
  for (std::int64_t k = 0; k < a.values.size(); ++k) {
    REQUIRE(a.columns[k] == b.columns[k]);
    a.values[k] -= b.values[k];
  }
  return a;
}

}  // namespace

TEST_CASE("Robin terms are what these add to the matrix, in another order of the unknowns") {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 2, 3, 4}) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const auto small = tests::make_form(shape, degree, {4, 3, 3});
      std::vector<std::int32_t> unknown_at(small.form.unknowns);  // inverse order
      std::iota(unknown_at.rbegin(), unknown_at.rend(), 0);
      const RobinTerms terms = robin_terms(small.form, unknown_at);
      auto found = matrix_of(terms);
      const CsrMatrix<double> added = added_by_robin(small.form);
      double largest = 0, difference = 0;
      for (std::int32_t row = 0; row < added.rows; ++row)
        for (std::int64_t k = added.row_offsets[row]; k < added.row_offsets[row + 1]; ++k) {
          auto& of_row = found[small.form.unknowns - 1 - row];
          const std::int32_t column = small.form.unknowns - 1 - added.columns[k];
          largest = std::max(largest, std::abs(added.values[k]));
          difference = std::max(difference, std::abs(added.values[k] - of_row[column]));
          of_row.erase(column);
        }
      CHECK(largest > 0);
      CHECK(difference < 1e-12);
      for (const auto& [row, rest] : found) CHECK(rest.empty());
    }
}

TEST_CASE("each unknown of Robin facets has its places, once and in order") {
  for (const mesh::CellShape shape : {mesh::CellShape::triangle, mesh::CellShape::hexahedron}) {
    const auto small = tests::make_form(shape, 2, {9, 8, 7});
    std::vector<std::int32_t> unknown_at(small.form.unknowns);
    std::iota(unknown_at.begin(), unknown_at.end(), 0);
    const RobinTerms terms = robin_terms(small.form, unknown_at);
    std::map<std::int32_t, std::vector<std::int32_t>> expected;
    for (std::size_t place = 0; place < terms.positions.size(); ++place)
      if (terms.positions[place] >= 0) expected[terms.positions[place]].push_back(static_cast<std::int32_t>(place));
    REQUIRE(terms.rows.size() == expected.size());
    std::size_t k = 0;
    for (const auto& [position, local_indices] : expected) {
      const RobinTerms::Row& row = terms.rows[k++];
      CHECK(row.position == position);
      std::vector<std::int32_t> found{row.first};
      if (row.second >= 0) found.push_back(row.second);
      if (row.rest >= 0)
        found.insert(found.end(), &terms.more[row.rest + 1], &terms.more[row.rest] + 1 + terms.more[row.rest]);
      CHECK(found == local_indices);
    }
  }
}

TEST_CASE("without Robin facets there are no terms") {
  const auto small = tests::make_form(mesh::CellShape::hexahedron, 2, {2, 2, 2}, {.robin = false});
  CHECK(robin_terms(small.form, {}).facets == 0);
}

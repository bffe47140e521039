#pragma once

#include "operators/aggregation/matrix_pointers.hpp"

namespace femcg::operators {

/// Row i of A B: the sum over k of a_ik times row k of B.
struct ProductRow {
  MatrixPointers a, b;

  constexpr std::int64_t most(std::int64_t row) const {
    std::int64_t terms = 0;
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) terms += b.length(a.column[k]);
    return terms;
  }
  template <class Row>
  constexpr void operator()(std::int64_t row, Row& to) const {
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) {
      const std::int32_t middle = a.column[k];
      for (std::int64_t l = b.offsets[middle]; l < b.offsets[middle + 1]; ++l)
        to.add_product(b.column[l], a.value[k], b.value[l]);
    }
  }
};

template <class On>
RectangularMatrix product_on(const On& on, const RectangularMatrix& a, const RectangularMatrix& b) {
  return on.rows(a.rows, b.columns, ProductRow{MatrixPointers(a), MatrixPointers(b)});
}

}  // namespace femcg::operators

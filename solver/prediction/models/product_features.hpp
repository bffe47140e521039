#pragma once

#include <vector>

#include "solver/prediction/models/model.hpp"

namespace femcg::solver {

/// How the threads of a device go over the rows of a matrix, in steps that they make together.
struct RowSteps {
  int rows = 32;            ///< in a group
  int entries = 1;          ///< of each of its rows, in a step
  bool sorted = false;      ///< rows are taken by their lengths, the longest first
  bool to_longest = false;  ///< all rows take as many steps as the longest of the matrix
  int line_bytes = 32;      ///< that are fetched of x at once
};

/// Features that the time of a product depends on.
struct ProductFeatures {
  double rows = 0, nonzeros = 0;
  double moved_bytes = 0;    ///< what is stored, x and y, once
  double working_bytes = 0;  ///< what is touched again with the next product
  double input_bytes = 0;    ///< of x from memory (Product::input_bytes)
  double steps = 0;          ///< of all groups
  double longest_steps = 0;  ///< of the group with the longest row
  double lines = 0;          ///< of x that are fetched, each group's steps by themselves
  double lines_of_blocks =
      0;                 ///< of x that 128 rows fetch which are next to each other in the order of the threads, once
  double irregular = 0;  ///< rows as long as none of the four before them, which processors do not foresee

  bool operator==(const ProductFeatures&) const = default;
};

/// Counts them: steps of all rows, lines of some runs of rows that are spread evenly over the matrix. The product is
/// of a form, or has columns.
ProductFeatures features_of(const Product& product, const RowSteps& by);

/// The columns of some rows of a form's matrix, each ascending; rows are given in ascending order.
std::vector<std::vector<std::int32_t>> columns_of_rows(const operators::BilinearForm& form,
                                                       const std::vector<std::int32_t>& rows);

}  // namespace femcg::solver

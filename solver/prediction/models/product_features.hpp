#pragma once

#include <vector>

#include "solver/prediction/models/model.hpp"

namespace femcg::solver {

/// Traversal of the rows of a matrix by a device's threads, in common steps.
struct RowSteps {
  int rows = 32;            ///< rows per group
  int entries = 1;          ///< per row and step
  bool sorted = false;      ///< rows in the order of their lengths, longest first
  bool to_longest = false;  ///< all rows take as many steps as the longest of the matrix
  int line_bytes = 32;      ///< cache line of x
};

/// Features that determine the time of a product.
struct ProductFeatures {
  double rows = 0, nonzeros = 0;
  double moved_bytes = 0;      ///< stored data, x and y, once
  double working_bytes = 0;    ///< data that the next product reuses
  double input_bytes = 0;      ///< of x from memory (Product::input_bytes)
  double steps = 0;            ///< over all groups
  double longest_steps = 0;    ///< of the group with the longest row
  double lines = 0;            ///< lines of x fetched, counted per group and step
  double lines_of_blocks = 0;  ///< lines of x fetched by 128 consecutive rows in the order of the threads, each once
  double irregular = 0;  ///< rows longer or shorter than each of the four before them, which branch prediction misses

  bool operator==(const ProductFeatures&) const = default;
};

/// Counts the features: steps for all rows, lines for an evenly spaced sample of rows. The product must have a form or
/// columns.
ProductFeatures features_of(const Product& product, const RowSteps& by);

/// Columns of some rows of a form's matrix, each ascending; `rows` is ascending.
std::vector<std::vector<std::int32_t>> columns_of_rows(const operators::BilinearForm& form,
                                                       const std::vector<std::int32_t>& rows);

}  // namespace femcg::solver

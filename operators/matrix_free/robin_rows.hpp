#pragma once

#include <cstdint>
#include <vector>

#include "operators/forms/bilinear_form.hpp"

namespace femcg::operators {

/// The Robin terms, sum over facets of the integral of alpha u v, as compressed rows of the unknowns that they touch.
struct RobinRows {
  std::vector<std::int32_t> rows;     ///< unknowns
  std::vector<std::int32_t> offsets;  ///< of each of them, and the end
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

RobinRows robin_rows(const BilinearForm& form);

}  // namespace femcg::operators

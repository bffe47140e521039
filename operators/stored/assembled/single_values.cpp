#include "operators/stored/assembled/single_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace femcg::operators {

CsrMatrix<float> to_single(const CsrMatrix<double>& matrix) {
  for (const double value : matrix.values.span())
    if (std::abs(value) > std::numeric_limits<float>::max())
      throw std::overflow_error(
          fmt::format("the matrix has an entry {:.3g}, which is too large for single precision", value));
  CsrMatrix<float> to;
  to.rows = matrix.rows;
  to.row_offsets = copied(matrix.row_offsets, Device::host);
  to.columns = copied(matrix.columns, Device::host);
  to.values = Vector<float>(matrix.values.size());
  copy(matrix.values, to.values);
  return to;
}

}  // namespace femcg::operators

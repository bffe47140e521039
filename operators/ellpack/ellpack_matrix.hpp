#pragma once

#include <memory>

#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

/// A matrix padded to its longest row, on one device: entry k of every row before entry k + 1.
template <std::floating_point T>
struct EllpackMatrix {
  static constexpr std::int64_t group_rows = 8;

  std::int32_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t width = 0;        ///< of the longest row
  std::int64_t stride = 0;       ///< rows, rounded up to whole groups
  Vector<std::int32_t> lengths;  ///< of each row, without padding: ELLPACK-R only; stride
  Vector<std::int32_t> columns;  ///< width x stride; padding has the row's last column
  Vector<T> values;              ///< width x stride; and the value 0

  std::int64_t entries() const { return width * stride; }
};

/// Its lengths, where `skips_padding`; columns and values apart. Throws std::invalid_argument where padding takes too
/// much.
template <std::floating_point T>
EllpackMatrix<T> lists_of_ellpack(const CsrMatrix<T>& matrix, bool skips_padding);

/// ELLPACK-R leaves the padding out of what a product has to read.
template <std::floating_point T>
Footprint footprint_of(const EllpackMatrix<T>& a) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const std::int64_t stored = a.entries() * entry_bytes + a.lengths.bytes();
  return stored_footprint<T>(a.rows, a.nonzeros, a.entries(), stored,
                             a.lengths.size() > 0 ? a.nonzeros * entry_bytes + a.lengths.bytes() : stored);
}

/// The product on the GPU, which moves the entries to their places; all that is given is on the host.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellpack_cuda(const EllpackMatrix<T>& lists, const CsrMatrix<T>& matrix,
                                               Vector<T> diagonal);

}  // namespace femcg::operators

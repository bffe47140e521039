#pragma once

#include <memory>

#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

/// Compressed rows that begin at multiples of `alignment` entries, on one device.
template <std::floating_point T>
struct AlignedRows {
  static constexpr std::int64_t alignment = 16;

  std::int32_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t entries = 0;      ///< padding included
  Vector<std::int32_t> starts;   ///< where each row begins, over `alignment`: 32 bits reach 34 thousand million entries
  Vector<std::int32_t> lengths;  ///< of each row, without padding
  Vector<std::int32_t> columns;  ///< padding has the row's last column
  Vector<T> values;              ///< and the value 0
};

/// Its lists, columns and values apart. Throws std::invalid_argument where there are too many entries.
template <std::floating_point T>
AlignedRows<T> lists_of_aligned_rows(const CsrMatrix<T>& matrix);

/// Padding is stored, and left out of what a product has to read.
template <std::floating_point T>
Footprint footprint_of(const AlignedRows<T>& a) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const std::int64_t lists = a.starts.bytes() + a.lengths.bytes();
  return stored_footprint<T>(a.rows, a.nonzeros, a.entries, a.entries * entry_bytes + lists,
                             a.nonzeros * entry_bytes + lists);
}

/// The product on the GPU, which moves the entries to their places; all that is given is on the host.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_csr_aligned_cuda(const AlignedRows<T>& lists, const CsrMatrix<T>& matrix,
                                                   Vector<T> diagonal);

}  // namespace femcg::operators

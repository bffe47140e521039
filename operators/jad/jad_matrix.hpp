#pragma once

#include <memory>

#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

/// A matrix as jagged diagonals, on one device. Diagonal k has entry k of every row that is longer than k; the row at
/// position p is entry p of each of its diagonals.
template <std::floating_point T>
struct JaggedDiagonals {
  std::int32_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t entries = 0;      ///< nonzeros, and gaps before long diagonals
  Vector<std::int64_t> offsets;  ///< where each diagonal begins; as many as the longest row has entries
  Vector<std::int32_t> lengths;  ///< of the row at each position, never increasing
  Vector<std::int32_t> places;   ///< the row at each position
  Vector<std::int32_t> columns;
  Vector<T> values;
};

/// Its lists, columns and values apart. Rows of one length keep their order.
template <std::floating_point T>
JaggedDiagonals<T> lists_of_jagged_diagonals(const CsrMatrix<T>& matrix);

template <std::floating_point T>
Footprint footprint_of(const JaggedDiagonals<T>& a) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const std::int64_t lists = a.offsets.bytes() + a.lengths.bytes() + a.places.bytes();
  return stored_footprint<T>(a.rows, a.nonzeros, a.entries, a.entries * entry_bytes + lists,
                             a.nonzeros * entry_bytes + lists);
}

/// The product on the GPU, which moves the entries to their places; all that is given is on the host.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_jad_cuda(const JaggedDiagonals<T>& lists, const CsrMatrix<T>& matrix,
                                           Vector<T> diagonal);

}  // namespace femcg::operators

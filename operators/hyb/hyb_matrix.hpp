#pragma once

#include <memory>

#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

/// A matrix as a padded part and the rest, on one device.
///
/// The rest has one coordinate for all entries of a row: entries [rest_offsets[i], rest_offsets[i + 1]) are in row
/// rest_rows[i]. Rows ascend, those of a slice of 32 rows are [rest_of_slice[s], rest_of_slice[s + 1]): whoever has a
/// slice's padded part adds its rest, without atomics and in a fixed order.
template <std::floating_point T>
struct HybMatrix {
  static constexpr std::int64_t slice_rows = 32;

  std::int32_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t width = 0;   ///< entries per row of the padded part
  std::int64_t stride = 0;  ///< rows, rounded up to whole slices
  std::int64_t rest_entries = 0;
  Vector<std::int32_t> columns;  ///< width x stride
  Vector<T> values;              ///< width x stride
  Vector<std::int32_t> lengths;  ///< of the padded part's rows without padding; stride
  Vector<std::int32_t> rest_of_slice;
  Vector<std::int32_t> rest_rows;
  Vector<std::int64_t> rest_offsets;
  Vector<std::int32_t> rest_columns;
  Vector<T> rest_values;
};

/// Bell & Garland's width: the largest k so that at least a third of the rows, and at least 4096, have k entries or
/// more. They found the padded part three times as fast as coordinates, and too few rows to fill a GPU below 4096.
template <std::floating_point T>
std::int64_t typical_width(const CsrMatrix<T>& matrix);

/// Its lists, columns and values apart. Throws std::invalid_argument where padding takes too much.
template <std::floating_point T>
HybMatrix<T> lists_of_hyb(const CsrMatrix<T>& matrix, std::int64_t width);

/// Where `skips_padding`, a product leaves the padding out and reads the lengths instead.
template <std::floating_point T>
Footprint footprint_of(const HybMatrix<T>& a, bool skips_padding) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
  const std::int64_t entries = a.width * a.stride + a.rest_entries;
  const std::int64_t lists = a.rest_of_slice.bytes() + a.rest_rows.bytes() + a.rest_offsets.bytes();
  return stored_footprint<T>(
      a.rows, a.nonzeros, entries, entries * entry_bytes + lists + a.lengths.bytes(),
      (skips_padding ? a.nonzeros * entry_bytes + a.lengths.bytes() : entries * entry_bytes) + lists);
}

/// The product on the GPU, which moves the entries to their places; all that is given is on the host.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_hyb_cuda(const HybMatrix<T>& lists, const CsrMatrix<T>& matrix, Vector<T> diagonal);

}  // namespace femcg::operators

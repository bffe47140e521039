#pragma once

// cuSPARSE and Eigen take one type for offsets and columns alike: 32 bits where these count the entries, else 64.

#include <string_view>

#include "operators/stored/common/stored_footprint.hpp"

namespace femcg::operators {

/// Option `index` of the libraries' operators: bits of an offset and of a column, auto for 32 where they fit.
inline bool is_library_index(std::string_view text) { return text == "auto" || text == "32" || text == "64"; }

/// The bits for so many stored entries. `index` is auto, 32 or 64; throws std::invalid_argument where 32 are insisted
/// on and too few.
int index_bits(std::int64_t entries, std::string_view operator_name, std::string_view index);

/// Compressed rows with indices of so many bits.
template <std::floating_point T>
std::int64_t bytes_of_rows(const CsrMatrix<T>& matrix, int bits) {
  return matrix.nonzeros() * (std::int64_t{sizeof(T)} + bits / 8) + (matrix.rows + std::int64_t{1}) * (bits / 8);
}

/// As stored_footprint, whose indices have 32 bits.
template <std::floating_point T>
Footprint library_footprint(std::int64_t rows, std::int64_t nonzeros, std::int64_t entries, std::int64_t stored_bytes,
                            std::int64_t read_bytes, int bits) {
  Footprint footprint = stored_footprint<T>(rows, nonzeros, entries, stored_bytes, read_bytes);
  footprint.effective_bytes += (nonzeros + rows) * (bits / 8 - std::int64_t{sizeof(std::int32_t)});
  return footprint;
}

}  // namespace femcg::operators

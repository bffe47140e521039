#pragma once

#include <cstdint>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// Number of entries of the longest row; 0 without rows.
template <std::floating_point T>
std::int64_t longest_row(const CsrMatrix<T>& matrix);

/// Throws std::invalid_argument if `entries` stored for a matrix take more than 1 GiB beyond its nonzeros and more than
/// four times their number, with a message that begins with `what` and recommends sell.
template <std::floating_point T>
void check_padding(const CsrMatrix<T>& matrix, std::int64_t width, std::int64_t entries, const char* what);

}  // namespace femcg::operators

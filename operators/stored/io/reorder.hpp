#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::operators {

/// The reverse Cuthill-McKee order of the pattern of A, or of A + A' if that of A is not symmetric: entry i is the new
/// number of row i (mesh/dofs/ordering.hpp).
template <std::floating_point T>
std::vector<std::int32_t> reverse_cuthill_mckee(const CsrMatrix<T>& matrix);

/// B = P A P': b_{p(i) p(j)} = a_ij, where p(i) = permutation[i]. Throws std::invalid_argument if `permutation` is not
/// a permutation of the rows.
template <std::floating_point T>
CsrMatrix<T> permute(const CsrMatrix<T>& matrix, std::span<const std::int32_t> permutation);

}  // namespace femcg::operators

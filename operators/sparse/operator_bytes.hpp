#pragma once

#include <concepts>
#include <cstdint>

#include "operators/sparse/csr_matrix.hpp"

namespace femcg::operators {

/// What the memory of an operator is estimated from, before the operator is there.
template <std::floating_point T>
struct Extent {
  Device device = Device::host;
  const BilinearForm* form = nullptr;    ///< null for a matrix from a file
  const CsrMatrix<T>* matrix = nullptr;  ///< its row offsets are looked at, and nothing else; null where none is needed
};

/// Bytes that an operator takes beside what it is made from.
struct OperatorBytes {
  std::int64_t stored = 0;          ///< on its device, as its footprint will say
  std::int64_t making = 0;          ///< of its device for a moment more, while it is made
  std::int64_t making_on_host = 0;  ///< of the host for that moment, where its device is another
  std::int64_t slack = 0;           ///< how much less than `stored` it may be: that depends on columns or on geometry
  std::int64_t resident = 0;        ///< of its device, while CG has a loop inside one kernel (PersistentCg) with it
  bool keeps_matrix = false;        ///< what it stores is the assembled matrix itself
};

/// A matrix in compressed rows with columns of 32 bits and offsets of 64.
template <std::floating_point T>
std::int64_t bytes_of_rows(const CsrMatrix<T>& matrix) {
  return matrix.nonzeros() * static_cast<std::int64_t>(sizeof(T) + sizeof(std::int32_t)) + matrix.row_offsets.bytes();
}

/// What an operator takes that keeps just what it is made from, in the working precision: compressed rows, element
/// matrices (their symmetric half), or the factors at quadrature points, of which affine cells with constant diffusion
/// need less.
template <std::floating_point T>
OperatorBytes bytes_of_compressed_rows(const Extent<T>& of);
template <std::floating_point T>
OperatorBytes bytes_of_element_matrices(const Extent<T>& of);
template <std::floating_point T>
OperatorBytes bytes_of_factors(const Extent<T>& of);
/// Of the factors of Robin facets, in numbers of that size.
std::int64_t bytes_of_robin(const BilinearForm& form, std::int64_t value_bytes);

}  // namespace femcg::operators

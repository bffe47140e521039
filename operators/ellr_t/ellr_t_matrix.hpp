#pragma once

#include <memory>

#include "operators/sparse/csr_matrix.hpp"
#include "operators/sparse/stored_footprint.hpp"

namespace femcg::operators {

/// A matrix for `threads` threads per row, on one device. Thread t of row i is slot i threads + t; entry k threads + t
/// of a row is that slot's in step k, and all slots of step k come before those of step k + 1.
template <std::floating_point T>
struct EllrTMatrix {
  std::int32_t rows = 0;
  std::int64_t nonzeros = 0;
  int threads = 1;                ///< a row: a power of two up to 32
  std::int64_t most_steps = 0;    ///< of the longest row
  std::int64_t slots = 0;         ///< rows x threads, rounded up to rows in multiples of 32
  std::int64_t steps_in_all = 0;  ///< of all rows
  Vector<std::int32_t> steps;     ///< of each row: its entries over threads, rounded up; slots / threads
  Vector<std::int32_t> columns;   ///< most_steps x slots
  Vector<T> values;               ///< most_steps x slots

  std::int64_t entries() const { return most_steps * slots; }
};

/// Its list, columns and values apart. Throws std::invalid_argument where padding takes too much.
template <std::floating_point T>
EllrTMatrix<T> list_of_ellr_t(const CsrMatrix<T>& matrix, int threads);

/// Padding up to a row's own steps is multiplied, that up to the longest row's left out.
template <std::floating_point T>
Footprint footprint_of(const EllrTMatrix<T>& a) {
  constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);
  return stored_footprint<T>(a.rows, a.nonzeros, a.entries(), a.entries() * entry_bytes + a.steps.bytes(),
                             a.steps_in_all * a.threads * entry_bytes + a.steps.bytes());
}

/// The product on the GPU in blocks of `block_size` threads, which moves the entries to their places; all that is given
/// is on the host.
template <std::floating_point T>
std::unique_ptr<Operator<T>> make_ellr_t_cuda(const EllrTMatrix<T>& list, int block_size, const CsrMatrix<T>& matrix,
                                              Vector<T> diagonal);

}  // namespace femcg::operators

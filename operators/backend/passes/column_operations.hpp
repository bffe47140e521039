#pragma once

#include <concepts>

#include "operators/backend/columns.hpp"
#include "operators/backend/passes/vector_operations.hpp"

namespace femcg::operators {

template <class T>
void clear(Columns<T>& columns) {
  clear(columns.entries());
}
template <class T>
void copy(const Columns<T>& from, Columns<T>& to) {
  copy(from.entries(), to.entries());
}

/// The scalars of one iteration of CG on several systems, one of each for every column, on the device of the loop.
struct CgColumnScalars {
  static constexpr int count = 3;
  /// `count` times as many numbers of a vector from a place on as `running` has columns.
  CgColumnScalars(Vector<double>& of, std::int64_t place, const ColumnScalars& is_running)
      : rz(of, place, is_running.stride()),
        rr(of, place + is_running.stride(), is_running.stride()),
        energy(of, place + 2 * std::int64_t{is_running.stride()}, is_running.stride()),
        running(is_running) {}
  ColumnScalars rz;       ///< r'M^-1 r
  ColumnScalars rr;       ///< r'r
  ColumnScalars energy;   ///< p'Ap
  ColumnScalars running;  ///< 1 for a column that iterates, 0 for a frozen one, whose step lengths are 0
};
template <class T>
struct CgScalarsOf<Columns<T>> {
  using Type = CgColumnScalars;
};

/// The vector kernels of CG on several systems with one matrix, whose recurrences share nothing but the product.
template <std::floating_point T>
using ColumnOperations = CgKernels<Columns<T>>;

template <std::floating_point T>
const ColumnOperations<T>& column_operations(Device device);

/// Those of the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const ColumnOperations<T>& cuda_column_operations();

/// The steps of the Chebyshev iteration (vector_operations.hpp), column by column.
template <std::floating_point T>
void chebyshev_first(double b, const Columns<T>& r, const InverseDiagonal& inverse_diagonal, Columns<T>& d,
                     Columns<T>& z);
template <std::floating_point T>
void chebyshev_next(double a, double b, const Columns<T>& r, const Columns<T>& q,
                    const InverseDiagonal& inverse_diagonal, Columns<T>& d, Columns<T>& z);

/// Those of the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_chebyshev_first(double b, const Columns<T>& r, const InverseDiagonal& inverse_diagonal, Columns<T>& d,
                          Columns<T>& z);
template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const Columns<T>& r, const Columns<T>& q,
                         const InverseDiagonal& inverse_diagonal, Columns<T>& d, Columns<T>& z);

}  // namespace femcg::operators

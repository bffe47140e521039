#pragma once

#include <concepts>

#include "operators/backend/multi_vector.hpp"
#include "operators/backend/passes/vector_kernels.hpp"

namespace femcg::operators {

template <class T>
void clear(MultiVector<T>& columns) {
  clear(columns.entries());
}
template <class T>
void copy(const MultiVector<T>& from, MultiVector<T>& to) {
  copy(from.entries(), to.entries());
}

/// The scalars of one iteration of CG on several systems, one per column, on the device of the loop.
struct CgMultiScalars {
  static constexpr int count = 3;
  /// A view of `count` stride values of a vector from `place` on; the stride is that of `is_running`.
  CgMultiScalars(Vector<double>& of, std::int64_t place, const MultiScalar& is_running)
      : rz(of, place, is_running.stride()),
        rr(of, place + is_running.stride(), is_running.stride()),
        energy(of, place + 2 * std::int64_t{is_running.stride()}, is_running.stride()),
        running(is_running) {}
  MultiScalar rz;       ///< r'M^-1 r
  MultiScalar rr;       ///< r'r
  MultiScalar energy;   ///< p'Ap
  MultiScalar running;  ///< 1 for a column that iterates, 0 for a frozen one, whose step lengths are 0
};
template <class T>
struct CgScalarsOf<MultiVector<T>> {
  using Type = CgMultiScalars;
};

/// Vector kernels of CG on several systems with one matrix, whose recurrences share only the product.
template <std::floating_point T>
using MultiVectorKernels = CgKernels<MultiVector<T>>;

template <std::floating_point T>
const MultiVectorKernels<T>& multi_vector_kernels(Device device);

/// The version for the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const MultiVectorKernels<T>& cuda_multi_vector_kernels();

/// Steps of the Chebyshev iteration (vector_kernels.hpp), column by column.
template <std::floating_point T>
void chebyshev_first(double b, const MultiVector<T>& r, const InverseDiagonal& inverse_diagonal, MultiVector<T>& d,
                     MultiVector<T>& z);
template <std::floating_point T>
void chebyshev_next(double a, double b, const MultiVector<T>& r, const MultiVector<T>& q,
                    const InverseDiagonal& inverse_diagonal, MultiVector<T>& d, MultiVector<T>& z);

/// Versions for the GPU; they throw std::runtime_error in a build without CUDA.
template <std::floating_point T>
void cuda_chebyshev_first(double b, const MultiVector<T>& r, const InverseDiagonal& inverse_diagonal, MultiVector<T>& d,
                          MultiVector<T>& z);
template <std::floating_point T>
void cuda_chebyshev_next(double a, double b, const MultiVector<T>& r, const MultiVector<T>& q,
                         const InverseDiagonal& inverse_diagonal, MultiVector<T>& d, MultiVector<T>& z);

}  // namespace femcg::operators

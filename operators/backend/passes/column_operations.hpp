#pragma once

#include <concepts>

#include "operators/backend/columns.hpp"
#include "operators/backend/passes/vector_operations.hpp"

namespace femcg::operators {

/// The numbers of one iteration of CG on several systems, `stride` of each, on the device of the loop.
struct CgColumnScalars {
  static constexpr int count = 3;
  /// `count` x stride numbers of a vector from a place on.
  CgColumnScalars(Vector<double>& of, std::int64_t place, int stride)
      : rz(of, place, stride), rr(of, place + stride, stride), energy(of, place + 2 * stride, stride) {}
  ColumnScalars rz;      ///< r'M^-1 r
  ColumnScalars rr;      ///< r'r
  ColumnScalars energy;  ///< p'Ap
};

/// The vector passes of preconditioned CG on several systems with one matrix, whose recurrences have nothing in common
/// but the product. As VectorOperations, column by column: M is diagonal, `inverse_diagonal` is M^-1, or null for M =
/// I; a step without energy or after a residual of zero has length zero. So has every step of a column that does not
/// run, whose number in `running` is 0, and not 1.
///
/// Sums run over fixed blocks in a fixed order.
template <std::floating_point T>
class ColumnOperations {
 public:
  virtual ~ColumnOperations() = default;

  /// p = M^-1 r, rz = r'p, rr = r'r.
  virtual void start(const Columns<T>& r, const InverseDiagonal* inverse_diagonal, Columns<T>& p,
                     CgColumnScalars& first) const = 0;
  /// alpha = rz / energy; r -= alpha q; new_rz = r'M^-1 r; rr = r'r.
  virtual void update(const CgColumnScalars& now, const ColumnScalars& running, const Columns<T>& q,
                      const InverseDiagonal* inverse_diagonal, Columns<T>& r, CgColumnScalars& next) const = 0;
  /// alpha = rz / energy, beta = new_rz / rz; x += alpha p; p = M^-1 r + beta p.
  virtual void direction(const CgColumnScalars& now, const CgColumnScalars& next, const ColumnScalars& running,
                         const Columns<T>& r, const InverseDiagonal* inverse_diagonal, Columns<T>& p,
                         Columns<T>& x) const = 0;
  /// In the place of `direction` where two iterations share one pass over x, as DeferredUpdate has it.
  ///
  /// beta = next.rz / now.rz; second = M^-1 r + beta p.
  virtual void defer(const CgColumnScalars& now, const CgColumnScalars& next, const ColumnScalars& running,
                     const Columns<T>& r, const InverseDiagonal* inverse_diagonal, const Columns<T>& p,
                     Columns<T>& second) const = 0;
  /// alpha of both; beta = next.rz / now.rz; x += alpha_before p + alpha_now second; p = M^-1 r + beta second.
  virtual void catch_up(const CgColumnScalars& before, const CgColumnScalars& now, const CgColumnScalars& next,
                        const ColumnScalars& running, const Columns<T>& r, const InverseDiagonal* inverse_diagonal,
                        const Columns<T>& second, Columns<T>& p, Columns<T>& x) const = 0;
  /// The steps of the Chebyshev iteration, as chebyshev_first and chebyshev_next (vector_operations.hpp) have them.
  virtual void chebyshev_first(double b, const Columns<T>& r, const InverseDiagonal& inverse_diagonal, Columns<T>& d,
                               Columns<T>& z) const = 0;
  virtual void chebyshev_next(double a, double b, const Columns<T>& r, const Columns<T>& q,
                              const InverseDiagonal& inverse_diagonal, Columns<T>& d, Columns<T>& z) const = 0;
  /// result = a'b, column by column.
  virtual void dot(const Columns<T>& a, const Columns<T>& b, ColumnScalars& result) const = 0;
};

template <std::floating_point T>
const ColumnOperations<T>& column_operations(Device device);

/// Those of the GPU; throws std::runtime_error in a build without CUDA.
template <std::floating_point T>
const ColumnOperations<T>& cuda_column_operations();

}  // namespace femcg::operators

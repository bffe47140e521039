#pragma once

#include <concepts>
#include <cstdint>
#include <memory>

#include "operators/aggregation/rectangular_matrix.hpp"
#include "operators/backend/multi_vector.hpp"

namespace femcg::operators {

/// Prolongation P from the unknowns of a coarse level to those of a fine one, and restriction P', on one device. Both
/// give the same bits for any number of threads.
template <std::floating_point T>
class Transfer {
 public:
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// fine += P coarse.
  void add_prolonged(const Vector<T>& coarse, Vector<T>& fine) const { prolong_rows(coarse, 1, fine); }
  void add_prolonged(const MultiVector<T>& coarse, MultiVector<T>& fine) const {
    prolong_rows(coarse.entries(), fine.stride(), fine.entries());
  }
  /// coarse = P' (r - q).
  void restrict_residual(const Vector<T>& r, const Vector<T>& q, Vector<T>& coarse) const {
    restrict_rows(r, q, 1, coarse);
  }
  void restrict_residual(const MultiVector<T>& r, const MultiVector<T>& q, MultiVector<T>& coarse) const {
    restrict_rows(r.entries(), q.entries(), r.stride(), coarse.entries());
  }
  /// Both for rows of `stride` values.
  virtual void prolong_rows(const Vector<T>& coarse, int stride, Vector<T>& fine) const = 0;
  virtual void restrict_rows(const Vector<T>& r, const Vector<T>& q, int stride, Vector<T>& coarse) const = 0;
  virtual std::int64_t stored_bytes() const = 0;

 protected:
  Transfer() = default;
};

/// The transfer with P as a stored matrix on `device`, [fine unknowns][coarse unknowns], its values rounded to T.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_matrix_transfer(const RectangularMatrix& prolongation, Device device);

/// The version for the GPU.
template <std::floating_point T>
std::unique_ptr<Transfer<T>> make_cuda_matrix_transfer(const RectangularMatrix& prolongation);

}  // namespace femcg::operators

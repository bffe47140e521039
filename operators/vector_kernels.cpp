// The passes of CG on the host. Words read and written an unknown: start 2, update 6, direction 3, dot 2; one more each
// with a diagonal, dot apart. Threads share fixed blocks of rows, each block one sweep of SIMD loops; sums are in
// double precision, block by block.

#include "operators/vector_kernels.hpp"

#include <cassert>

#include "operators/row_blocks.hpp"

namespace femcg::operators {

namespace {

/// r'M^-1 r and r'r.
struct Norms {
  double rz = 0, rr = 0;
  Norms& operator+=(const Norms& other) {
    rz += other.rz;
    rr += other.rr;
    return *this;
  }
};

/// M^-1 r, entry by entry, for M = I and for a diagonal M.
template <std::floating_point T>
struct Identity {
  T operator()(std::int64_t, T r) const { return r; }
};
template <std::floating_point T>
struct Diagonal {
  const T* inverse;
  T operator()(std::int64_t i, T r) const { return inverse[i] * r; }
};

template <std::floating_point T, class Pass>
void with_preconditioner(const Vector<T>* inverse_diagonal, const Pass& pass) {
  if (inverse_diagonal == nullptr)
    pass(Identity<T>{});
  else
    pass(Diagonal<T>{inverse_diagonal->data()});
}

// The passes on the rows first <= i < last.

template <std::floating_point T, class Preconditioner>
Norms start_rows(const T* r, Preconditioner solve, T* p, std::int64_t first, std::int64_t last) {
  double rz = 0, rr = 0;
#pragma omp simd reduction(+ : rz, rr)
  for (std::int64_t i = first; i < last; ++i) {
    p[i] = solve(i, r[i]);
    rz += static_cast<double>(r[i]) * static_cast<double>(p[i]);
    rr += static_cast<double>(r[i]) * static_cast<double>(r[i]);
  }
  return {rz, rr};
}

template <std::floating_point T, class Preconditioner>
Norms update_rows(T alpha, const T* p, const T* q, Preconditioner solve, T* x, T* r, std::int64_t first,
                  std::int64_t last) {
  double rz = 0, rr = 0;
#pragma omp simd reduction(+ : rz, rr)
  for (std::int64_t i = first; i < last; ++i) {
    x[i] += alpha * p[i];
    const T residual = r[i] - alpha * q[i];
    r[i] = residual;
    rz += static_cast<double>(residual) * static_cast<double>(solve(i, residual));
    rr += static_cast<double>(residual) * static_cast<double>(residual);
  }
  return {rz, rr};
}

template <std::floating_point T, class Preconditioner>
void direction_rows(T beta, const T* r, Preconditioner solve, T* p, std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) p[i] = solve(i, r[i]) + beta * p[i];
}

template <std::floating_point T>
class HostKernels final : public VectorKernels<T> {
 public:
  void start(const Vector<T>& r, const Vector<T>* inverse_diagonal, Vector<T>& p, Scalar& rz,
             Scalar& rr) const override {
    assert(r.size() == p.size());
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms norms = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return start_rows(r.data(), solve, p.data(), first, last);
      });
      *rz.data() = norms.rz;
      *rr.data() = norms.rr;
    });
  }

  void update(const Scalar& rz, const Scalar& energy, const Vector<T>& p, const Vector<T>& q,
              const Vector<T>* inverse_diagonal, Vector<T>& x, Vector<T>& r, Scalar& new_rz,
              Scalar& rr) const override {
    assert(p.size() == q.size() && p.size() == x.size() && p.size() == r.size());
    const T alpha = static_cast<T>(step_length(rz.value(), energy.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms norms = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return update_rows(alpha, p.data(), q.data(), solve, x.data(), r.data(), first, last);
      });
      *new_rz.data() = norms.rz;
      *rr.data() = norms.rr;
    });
  }

  void direction(const Scalar& new_rz, const Scalar& rz, const Vector<T>& r, const Vector<T>* inverse_diagonal,
                 Vector<T>& p) const override {
    assert(r.size() == p.size());
    const T beta = static_cast<T>(step_length(new_rz.value(), rz.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        direction_rows(beta, r.data(), solve, p.data(), first, last);
      });
    });
  }

  void dot(const Vector<T>& a, const Vector<T>& b, Scalar& result) const override {
    assert(a.size() == b.size());
    *result.data() = sum_over_row_blocks(a.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
      return dot_of_rows(a.data(), b.data(), first, last);
    });
  }
};

}  // namespace

template <std::floating_point T>
const VectorKernels<T>& vector_kernels(Device device) {
  if (device == Device::cuda) return cuda_vector_kernels<T>();
  static const HostKernels<T> kernels;
  return kernels;
}

template const VectorKernels<double>& vector_kernels(Device);
template const VectorKernels<float>& vector_kernels(Device);

}  // namespace femcg::operators

// Vector kernels of CG on the host. Words read and written per unknown: start 2, update 3, direction 5, delay_update 3,
// catch_up 6, advance 9, advance_pipelined 13, dot 2; with a diagonal also M^-1 once each except for dot, two words of
// u in advance, and one of m in advance_pipelined. Threads take fixed blocks of rows, each in one sweep of SIMD loops;
// sums are in double precision, block by block.

#include "operators/backend/passes/vector_kernels.hpp"

#include <cassert>

#include "operators/backend/passes/diagonal_solve.hpp"
#include "operators/backend/threads/parallel_rows.hpp"

namespace femcg::operators {

namespace {

/// r'M^-1 r and r'r; in the pipelined method also u'Au.
struct Norms {
  double rz = 0, rr = 0, uw = 0;
  Norms& operator+=(const Norms& other) {
    rz += other.rz;
    rr += other.rr;
    uw += other.uw;
    return *this;
  }
  void write_to(CgScalars& next) const {
    *next.rz.data() = rz;
    *next.rr.data() = rr;
  }
};

template <class Pass>
void with_preconditioner(const InverseDiagonal* inverse_diagonal, const Pass& pass) {
  operators::with_preconditioner(inverse_diagonal != nullptr ? inverse_diagonal->data() : nullptr, pass);
}

// The kernels on the rows first <= i < last.

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
Norms update_rows(T alpha, const T* q, Preconditioner solve, T* r, std::int64_t first, std::int64_t last) {
  double rz = 0, rr = 0;
#pragma omp simd reduction(+ : rz, rr)
  for (std::int64_t i = first; i < last; ++i) {
    const T residual = r[i] - alpha * q[i];
    r[i] = residual;
    rz += static_cast<double>(residual) * static_cast<double>(solve(i, residual));
    rr += static_cast<double>(residual) * static_cast<double>(residual);
  }
  return {rz, rr};
}

template <std::floating_point T, class Preconditioner>
void direction_rows(T alpha, T beta, const T* r, Preconditioner solve, T* p, T* x, std::int64_t first,
                    std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    x[i] += alpha * p[i];
    p[i] = solve(i, r[i]) + beta * p[i];
  }
}

template <std::floating_point T, class Preconditioner>
void delay_update_rows(T beta, const T* r, Preconditioner solve, const T* p, T* second, std::int64_t first,
                       std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) second[i] = solve(i, r[i]) + beta * p[i];
}

template <std::floating_point T, class Preconditioner>
void catch_up_rows(T alpha_before, T alpha, T beta, const T* r, Preconditioner solve, const T* second, T* p, T* x,
                   std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    x[i] += alpha_before * p[i] + alpha * second[i];
    p[i] = solve(i, r[i]) + beta * second[i];
  }
}

/// The vectors of the single-reduction method as pointers; u may be r.
template <std::floating_point T>
struct Advanced {
  const T* w;
  T *u, *p, *s, *x, *r;
};

template <std::floating_point T, class Preconditioner>
Norms advance_rows(T alpha, T beta, const Advanced<T>& of, Preconditioner solve, std::int64_t first,
                   std::int64_t last) {
  const T* w = of.w;
  T *u = of.u, *p = of.p, *s = of.s, *x = of.x, *r = of.r;
  double rz = 0, rr = 0;
  // Entry by entry, since u and r may be one vector.
#pragma omp simd reduction(+ : rz, rr)
  for (std::int64_t i = first; i < last; ++i) {
    p[i] = u[i] + beta * p[i];
    s[i] = w[i] + beta * s[i];
    x[i] += alpha * p[i];
    const T residual = r[i] - alpha * s[i], solved = solve(i, residual);
    r[i] = residual;
    u[i] = solved;
    rz += static_cast<double>(residual) * static_cast<double>(solved);
    rr += static_cast<double>(residual) * static_cast<double>(residual);
  }
  return {rz, rr};
}

/// The vectors of the pipelined method as pointers; m may be w.
template <std::floating_point T>
struct AdvancedAhead {
  const T* n;
  T *m, *z, *w, *p, *s, *x, *r;
};

template <std::floating_point T, class Preconditioner>
Norms advance_pipelined_rows(T alpha, T beta, const AdvancedAhead<T>& of, Preconditioner solve, std::int64_t first,
                             std::int64_t last) {
  const T* n = of.n;
  T *m = of.m, *z = of.z, *w = of.w, *p = of.p, *s = of.s, *x = of.x, *r = of.r;
  double rz = 0, rr = 0, uw = 0;
  // Entry by entry, since m and w may be one vector.
#pragma omp simd reduction(+ : rz, rr, uw)
  for (std::int64_t i = first; i < last; ++i) {
    p[i] = solve(i, r[i]) + beta * p[i];
    s[i] = w[i] + beta * s[i];
    z[i] = n[i] + beta * z[i];
    x[i] += alpha * p[i];
    const T residual = r[i] - alpha * s[i], product = w[i] - alpha * z[i], solved = solve(i, residual);
    r[i] = residual;
    w[i] = product;
    m[i] = solve(i, product);
    rz += static_cast<double>(residual) * static_cast<double>(solved);
    rr += static_cast<double>(residual) * static_cast<double>(residual);
    uw += static_cast<double>(solved) * static_cast<double>(product);
  }
  return {rz, rr, uw};
}

template <std::floating_point T>
void chebyshev_first_rows(T b, const T* r, const float* inverse_diagonal, T* d, T* z, std::int64_t first,
                          std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    d[i] = b * inverse_diagonal[i] * r[i];
    z[i] = d[i];
  }
}

template <std::floating_point T>
void chebyshev_next_rows(T a, T b, const T* r, const T* q, const float* inverse_diagonal, T* d, T* z,
                         std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    d[i] = a * d[i] + b * inverse_diagonal[i] * (r[i] - q[i]);
    z[i] += d[i];
  }
}

template <std::floating_point T>
class HostKernels final : public VectorKernels<T>, public DelayedUpdate<Vector<T>> {
 public:
  void start(const Vector<T>& r, const InverseDiagonal* inverse_diagonal, Vector<T>& p,
             CgScalars& first) const override {
    assert(r.size() == p.size());
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms norms = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t from, std::int64_t to) {
        return start_rows(r.data(), solve, p.data(), from, to);
      });
      norms.write_to(first);
    });
  }

  void update(const CgScalars& now, const Vector<T>& q, const InverseDiagonal* inverse_diagonal, Vector<T>& r,
              CgScalars& next) const override {
    assert(q.size() == r.size());
    const T alpha = static_cast<T>(step_length(now.rz.value(), now.energy.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms norms = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return update_rows(alpha, q.data(), solve, r.data(), first, last);
      });
      norms.write_to(next);
    });
  }

  void direction(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                 const InverseDiagonal* inverse_diagonal, Vector<T>& p, Vector<T>& x) const override {
    assert(r.size() == p.size() && x.size() == p.size());
    const T alpha = static_cast<T>(step_length(now.rz.value(), now.energy.value()));
    const T beta = static_cast<T>(step_length(next.rz.value(), now.rz.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        direction_rows(alpha, beta, r.data(), solve, p.data(), x.data(), first, last);
      });
    });
  }

  const DelayedUpdate<Vector<T>>* delayed_update() const override { return this; }

  void delay_update(const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                    const InverseDiagonal* inverse_diagonal, const Vector<T>& p, Vector<T>& second) const override {
    assert(r.size() == p.size() && second.size() == p.size());
    const T beta = static_cast<T>(step_length(next.rz.value(), now.rz.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        delay_update_rows(beta, r.data(), solve, p.data(), second.data(), first, last);
      });
    });
  }

  void catch_up(const CgScalars& before, const CgScalars& now, const CgScalars& next, const Vector<T>& r,
                const InverseDiagonal* inverse_diagonal, const Vector<T>& second, Vector<T>& p,
                Vector<T>& x) const override {
    assert(r.size() == p.size() && second.size() == p.size() && x.size() == p.size());
    const T alpha_before = static_cast<T>(step_length(before.rz.value(), before.energy.value()));
    const T alpha = static_cast<T>(step_length(now.rz.value(), now.energy.value()));
    const T beta = static_cast<T>(step_length(next.rz.value(), now.rz.value()));
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        catch_up_rows(alpha_before, alpha, beta, r.data(), solve, second.data(), p.data(), x.data(), first, last);
      });
    });
  }

  void advance(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors,
               const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r, CgScalars& next) const override {
    const StepLengths lengths = step_lengths(before, now);
    const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
    T* u = inverse_diagonal != nullptr ? vectors.u.data() : r.data();
    const Advanced<T> of{vectors.w.data(), u, vectors.p.data(), vectors.s.data(), x.data(), r.data()};
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms norms = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return advance_rows(alpha, beta, of, solve, first, last);
      });
      norms.write_to(next);
    });
  }

  void advance_pipelined(const CgScalars& before, CgScalars& now, SingleReduction<T>& vectors, Pipelined<T>& ahead,
                         const InverseDiagonal* inverse_diagonal, Vector<T>& x, Vector<T>& r,
                         CgScalars& next) const override {
    const StepLengths lengths = step_lengths(before, now);
    const T alpha = static_cast<T>(lengths.alpha), beta = static_cast<T>(lengths.beta);
    T* m = inverse_diagonal != nullptr ? ahead.m.data() : vectors.w.data();
    const AdvancedAhead<T> of{ahead.n.data(),   m,        ahead.z.data(), vectors.w.data(), vectors.p.data(),
                              vectors.s.data(), x.data(), r.data()};
    with_preconditioner(inverse_diagonal, [&](auto solve) {
      const Norms sums = sum_over_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
        return advance_pipelined_rows(alpha, beta, of, solve, first, last);
      });
      sums.write_to(next);
      *next.uw.data() = sums.uw;
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

template <std::floating_point T>
void chebyshev_first(double b, const Vector<T>& r, const InverseDiagonal& inverse_diagonal, Vector<T>& d,
                     Vector<T>& z) {
  assert(inverse_diagonal.size() == r.size() && d.size() == r.size() && z.size() == r.size());
  if (r.device() == Device::cuda) return cuda_chebyshev_first(b, r, inverse_diagonal, d, z);
  for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    chebyshev_first_rows(static_cast<T>(b), r.data(), inverse_diagonal.data(), d.data(), z.data(), first, last);
  });
}

template <std::floating_point T>
void chebyshev_next(double a, double b, const Vector<T>& r, const Vector<T>& q, const InverseDiagonal& inverse_diagonal,
                    Vector<T>& d, Vector<T>& z) {
  assert(q.size() == r.size() && inverse_diagonal.size() == r.size() && d.size() == r.size() && z.size() == r.size());
  if (r.device() == Device::cuda) return cuda_chebyshev_next(a, b, r, q, inverse_diagonal, d, z);
  for_row_blocks(r.size(), EqualRows{}, [&](std::int64_t first, std::int64_t last) {
    chebyshev_next_rows(static_cast<T>(a), static_cast<T>(b), r.data(), q.data(), inverse_diagonal.data(), d.data(),
                        z.data(), first, last);
  });
}

template const VectorKernels<double>& vector_kernels(Device);
template const VectorKernels<float>& vector_kernels(Device);
template void chebyshev_first(double, const Vector<double>&, const InverseDiagonal&, Vector<double>&, Vector<double>&);
template void chebyshev_first(double, const Vector<float>&, const InverseDiagonal&, Vector<float>&, Vector<float>&);
template void chebyshev_next(double, double, const Vector<double>&, const Vector<double>&, const InverseDiagonal&,
                             Vector<double>&, Vector<double>&);
template void chebyshev_next(double, double, const Vector<float>&, const Vector<float>&, const InverseDiagonal&,
                             Vector<float>&, Vector<float>&);

}  // namespace femcg::operators

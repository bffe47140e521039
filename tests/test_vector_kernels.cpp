// The vector passes of CG against plain loops in long double: femcg's own, and those of the Eigen baseline.

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "operators/vector_kernels.hpp"
#include "operators/vendor/eigen.hpp"

namespace {

using namespace femcg::operators;

constexpr std::int64_t sizes[] = {0, 1, 5, 511, 512, 513, 4099};

template <class T>
const VectorKernels<T>& eigen_kernels() {
  static const auto op = [] {
    auto matrix = std::make_shared<CsrMatrix<T>>();
    matrix->row_offsets = Vector<std::int64_t>(1);
    matrix->row_offsets[0] = 0;
    Ingredients<T> ingredients;
    ingredients.matrix = std::move(matrix);
    return make_eigen<T>(ingredients, {});
  }();
  return op->kernels();
}

template <class T>
Vector<T> waves(std::int64_t n, double frequency) {
  Vector<T> vector(n);
  for (std::int64_t i = 0; i < n; ++i) vector[i] = static_cast<T>(1.5 + std::sin(frequency * static_cast<double>(i)));
  return vector;
}

template <class T>
Vector<T> poisoned(std::int64_t n) {
  Vector<T> vector(n);
  fill(vector, std::numeric_limits<T>::quiet_NaN());
  return vector;
}

struct Poisoned : Scalar {
  Poisoned() { *data() = std::nan(""); }
};

/// All terms of these sums are positive: the bound is relative. Eigen adds floats in single precision.
template <class T>
bool close(double value, long double exact) {
  return std::abs(value - exact) <= 100 * std::numeric_limits<T>::epsilon() * std::abs(exact);
}
template <class T>
bool close_entry(T value, long double exact, long double magnitude) {
  return std::abs(value - exact) <= 4 * std::numeric_limits<T>::epsilon() * magnitude;
}

template <class T>
void check_start(const VectorKernels<T>& kernels, std::int64_t n, const Vector<T>* inverse_diagonal) {
  const Vector<T> r = waves<T>(n, 0.3);
  Vector<T> p = poisoned<T>(n);
  Poisoned rz, rr;
  kernels.start(r, inverse_diagonal, p, rz, rr);
  long double exact_rz = 0, exact_rr = 0;
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const T z = inverse_diagonal != nullptr ? (*inverse_diagonal)[i] * r[i] : r[i];
    right = right && p[i] == z;
    exact_rz += static_cast<long double>(r[i]) * z;
    exact_rr += static_cast<long double>(r[i]) * r[i];
  }
  CHECK(right);
  CHECK(close<T>(rz.value(), exact_rz));
  CHECK(close<T>(rr.value(), exact_rr));
}

template <class T>
void check_update(const VectorKernels<T>& kernels, std::int64_t n, const Vector<T>* inverse_diagonal) {
  const Vector<T> p = waves<T>(n, 0.4), q = waves<T>(n, 0.5), x_before = waves<T>(n, 0.6), r_before = waves<T>(n, 0.7);
  Vector<T> x(n), r(n);
  copy(x_before, x);
  copy(r_before, r);
  Scalar rz, energy;
  *rz.data() = 3;
  *energy.data() = 4;
  Poisoned new_rz, rr;
  kernels.update(rz, energy, p, q, inverse_diagonal, x, r, new_rz, rr);
  const long double alpha = 0.75L;
  long double exact_rz = 0, exact_rr = 0;
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i) {
    right = right && close_entry<T>(x[i], x_before[i] + alpha * p[i], x_before[i] + alpha * p[i]);
    right = right && close_entry<T>(r[i], r_before[i] - alpha * q[i], r_before[i] + alpha * q[i]);
    const long double m = inverse_diagonal != nullptr ? (*inverse_diagonal)[i] : 1;
    exact_rz += m * r[i] * r[i];
    exact_rr += static_cast<long double>(r[i]) * r[i];
  }
  CHECK(right);
  CHECK(close<T>(new_rz.value(), exact_rz));
  CHECK(close<T>(rr.value(), exact_rr));
}

template <class T>
void check_direction(const VectorKernels<T>& kernels, std::int64_t n, const Vector<T>* inverse_diagonal) {
  const Vector<T> r = waves<T>(n, 0.8), p_before = waves<T>(n, 0.9);
  Vector<T> p(n);
  copy(p_before, p);
  Scalar new_rz, rz;
  *new_rz.data() = 1;
  *rz.data() = 8;
  kernels.direction(new_rz, rz, r, inverse_diagonal, p);
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const long double m = inverse_diagonal != nullptr ? (*inverse_diagonal)[i] : 1;
    const long double exact = m * r[i] + 0.125L * p_before[i];
    right = right && close_entry<T>(p[i], exact, exact);
  }
  CHECK(right);
}

template <class T>
void check_dot(const VectorKernels<T>& kernels, std::int64_t n) {
  const Vector<T> a = waves<T>(n, 1.1), b = waves<T>(n, 1.3);
  Poisoned result;
  kernels.dot(a, b, result);
  long double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) exact += static_cast<long double>(a[i]) * b[i];
  CHECK(close<T>(result.value(), exact));
}

}  // namespace

TEST_CASE_TEMPLATE("passes equal plain loops", T, double, float) {
  for (const VectorKernels<T>* kernels : {&vector_kernels<T>(Device::host), &eigen_kernels<T>()})
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      const Vector<T> diagonal = waves<T>(n, 0.2);
      for (const Vector<T>* inverse_diagonal : {static_cast<const Vector<T>*>(nullptr), &diagonal}) {
        check_start(*kernels, n, inverse_diagonal);
        check_update(*kernels, n, inverse_diagonal);
        check_direction(*kernels, n, inverse_diagonal);
      }
      check_dot(*kernels, n);
    }
}

TEST_CASE_TEMPLATE("sums are in double precision and the same to the bit on any number of threads", T, double, float) {
  const std::int64_t n = 100003;
  const Vector<T> a = waves<T>(n, 0.11), b = waves<T>(n, 0.13), diagonal = waves<T>(n, 0.17);
  const VectorKernels<T>& kernels = vector_kernels<T>(Device::host);
  const int before = omp_get_max_threads();
  double dot = 0, rz = 0, rr = 0;
  for (const int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    Vector<T> x(n), r(n);
    copy(a, x);
    copy(b, r);
    Scalar three, four, sum, sum_rz, sum_rr;
    *three.data() = 3;
    *four.data() = 4;
    kernels.dot(a, b, sum);
    kernels.update(three, four, a, b, &diagonal, x, r, sum_rz, sum_rr);
    if (threads == 1) {
      dot = sum.value();
      rz = sum_rz.value();
      rr = sum_rr.value();
    }
    CHECK(sum.value() == dot);
    CHECK(sum_rz.value() == rz);
    CHECK(sum_rr.value() == rr);
  }
  omp_set_num_threads(before);
  long double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) exact += static_cast<long double>(a[i]) * b[i];
  CHECK(std::abs(dot - exact) <= 1e-13L * exact);
}

#pragma once

// Device that a test program runs on: the host, or a GPU if the environment has FEMCG_TEST_DEVICE=cuda, as in the tests
// that ctest labels `cuda`. Without a GPU the program reports that and ends (main.cpp).

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "operators/backend/multi_vector.hpp"
#include "operators/catalogue.hpp"
#include "operators/ordering.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"

namespace femcg::tests {

inline operators::Device device() {
  const char* name = std::getenv("FEMCG_TEST_DEVICE");
  return name != nullptr && std::string_view(name) == "cuda" ? operators::Device::cuda : operators::Device::host;
}

/// Skips cases for a GPU, or for the host, on the other device.
///   TEST_CASE("a kernel does this" * tests::needs_gpu())
inline doctest::skip needs_gpu() { return doctest::skip(device() == operators::Device::host); }
inline doctest::skip needs_host() { return doctest::skip(device() == operators::Device::cuda); }

inline bool runs_here(const operators::OperatorDescription& row) {
  return device() == operators::Device::host ? row.host() : row.cuda;
}

/// True if a product and its energy are bitwise reproducible, for any number of threads: for all operators except those
/// with atomic sums, which have no order, and cuSPARSE, which gives no guarantee.
inline bool has_fixed_order(std::string_view name) { return name != "lma-atomic" && !name.starts_with("cusparse"); }

/// Ingredients of any operator on the device of the tests; all arguments must outlive them.
template <class T>
operators::Ingredients<T> ingredients(const operators::BilinearForm& form, const operators::ElementMatrices& matrices) {
  operators::Ingredients<T> from;
  from.device = device();
  from.form = &form;
  from.element_matrices = &matrices;
  from.matrix = std::make_shared<operators::CsrMatrix<T>>(operators::assemble<T>(form, matrices));
  return from;
}

/// Vector of `size` NaNs on the host.
template <class T>
operators::Vector<T> poisoned(std::int64_t size) {
  operators::Vector<T> vector(size);
  operators::fill(vector, std::numeric_limits<T>::quiet_NaN());
  return vector;
}

/// Output of an operator, on the host.
template <class T>
struct Written {
  operators::Vector<T> y;
  double energy = 0;
};

/// y = A x and x'Ax; y is filled with NaN beforehand on the operator's device. x and y are on the host in natural
/// order.
template <class T>
Written<T> apply(const operators::Operator<T>& a, const operators::Vector<T>& x) {
  const operators::Vector<T> from = to_ordering(a, x);
  operators::Vector<T> to = copied(poisoned<T>(x.size()), a.device());
  const operators::Vector<double> no_energy = poisoned<double>(1);
  operators::Vector<double> energy = copied(no_energy, a.device());
  operators::Scalar scalar(energy, 0);
  a.apply(from, to, &scalar);
  return {copied(from_ordering(a, to), operators::Device::host), scalar.value()};
}

/// y = A x only.
template <class T>
operators::Vector<T> apply_without_energy(const operators::Operator<T>& a, const operators::Vector<T>& x) {
  const operators::Vector<T> from = to_ordering(a, x);
  operators::Vector<T> to = copied(poisoned<T>(x.size()), a.device());
  a.apply(from, to);
  return copied(from_ordering(a, to), operators::Device::host);
}

/// Numbers of vectors that products are tested with: every stride, full and padded.
inline constexpr int column_counts[] = {1, 2, 3, 4, 5, 8, 16, 17, 32};

/// Power of two that scales column c of a test: exact, and different for neighbouring columns.
template <class T>
T column_scale(int c) {
  return std::ldexp(T(1), c % 7 - 3);
}

/// Y = A X and x_c'A x_c for vectors x_c = column_scale(c) x, where odd columns use the second x. Padding is NaN in X
/// and Y. Results are divided by their scale.
template <class T>
std::vector<Written<T>> apply_to_columns(const operators::Operator<T>& a, const operators::Vector<T>& first,
                                         const operators::Vector<T>& second, int count, bool with_energy) {
  using namespace operators;
  MultiVector<T> x(a.size(), count, a.device()), y(a.size(), count, a.device());
  copy(poisoned<T>(x.entries().size()), x.entries());
  copy(poisoned<T>(y.entries().size()), y.entries());
  for (int c = 0; c < count; ++c) {
    Vector<T> scaled = copied(c % 2 == 0 ? first : second, Device::host);
    for (T& number : scaled.span()) number *= column_scale<T>(c);
    set_column(copied(scaled, a.device()), a.ordering(), c, x);
  }
  Vector<double> numbers = copied(poisoned<double>(x.stride()), a.device());
  MultiScalar energies(numbers, 0, x.stride());
  a.apply(x, y, with_energy ? &energies : nullptr);
  const Vector<double> found = copied(numbers, Device::host);
  std::vector<Written<T>> all;
  for (int c = 0; c < count; ++c) {
    Vector<T> of_column(a.size(), a.device());
    get_column(y, c, a.ordering(), of_column);
    Written<T> written{copied(of_column, Device::host), found[c] / std::ldexp(1.0, 2 * (c % 7 - 3))};
    for (T& number : written.y.span()) number /= column_scale<T>(c);
    all.push_back(std::move(written));
  }
  return all;
}

/// Diagonal; filled with NaN beforehand on the operator's device.
template <class T>
operators::Vector<T> diagonal(const operators::Operator<T>& a) {
  operators::Vector<T> d = copied(poisoned<T>(a.size()), a.device());
  a.diagonal(d);
  return copied(from_ordering(a, d), operators::Device::host);
}

}  // namespace femcg::tests

// Vector kernels of CG compared with plain loops in long double: femcg's own, and those of the library baselines.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "operators/backend/passes/inverse_diagonal.hpp"
#include "operators/backend/passes/vector_kernels.hpp"
#include "operators/backend/permutation.hpp"
#include "operators/capabilities.hpp"
#include "tests/device.hpp"
#include "tests/threads.hpp"

namespace {

using namespace femcg::operators;
using femcg::tests::device;
using femcg::tests::Threads;

constexpr std::int64_t sizes[] = {0, 1, 5, 511, 512, 513, 4099, 300007};

/// An operator of a library, for its vector kernels.
template <class T>
std::unique_ptr<Operator<T>> baseline() {
  auto matrix = std::make_shared<CsrMatrix<T>>();
  matrix->row_offsets = Vector<std::int64_t>(1);
  matrix->row_offsets[0] = 0;
  Ingredients<T> ingredients;
  ingredients.device = device();
  ingredients.matrix = std::move(matrix);
  return find_operator(device() == Device::host ? "eigen" : "cusparse-csr")->make<T>(ingredients, {});
}

template <class T>
Vector<T> waves(std::int64_t n, double frequency) {
  Vector<T> vector(n);
  for (std::int64_t i = 0; i < n; ++i) vector[i] = static_cast<T>(1.5 + std::sin(frequency * static_cast<double>(i)));
  return vector;
}

template <class T>
Vector<T> there(const Vector<T>& on_host) {
  return copied(on_host, device());
}
template <class T>
Vector<T> here(const Vector<T>& anywhere) {
  return copied(anywhere, Device::host);
}

/// Scalars of three iterations; NaN except for the given ones.
struct Scalars {
  explicit Scalars(std::initializer_list<std::pair<int, double>> given) {
    Vector<double> on_host = femcg::tests::poisoned<double>(3 * CgScalars::count);
    for (const auto& [place, value] : given) on_host[place] = value;
    numbers = there(on_host);
    for (int i = 0; i < 3; ++i) of.emplace_back(numbers, CgScalars::count * i);
  }
  Vector<double> numbers;
  std::vector<CgScalars> of;
};
constexpr int rz_at = 0, energy_at = 2, uw_at = 3;

/// All terms of these sums are positive, so that the bound is relative. Libraries sum floats in single precision.
template <class T>
bool close(double value, long double exact) {
  return std::abs(value - exact) <= 100 * std::numeric_limits<T>::epsilon() * std::abs(exact);
}
template <class T>
bool close_entry(T value, long double exact, long double magnitude) {
  return std::abs(value - exact) <= 4 * std::numeric_limits<T>::epsilon() * magnitude;
}

/// Checks of the kernels with vectors of n entries.
template <class T>
struct Checks {
  const VectorKernels<T>& operations;
  std::int64_t n;
  const InverseDiagonal* diagonal_here;
  const InverseDiagonal* diagonal_there;

  long double solved(std::int64_t i, T r) const {
    return diagonal_here != nullptr ? static_cast<long double>((*diagonal_here)[i]) * r : r;
  }
  void check_norms(const CgScalars& next, const Vector<T>& r) const {
    long double rz = 0, rr = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      rz += solved(i, r[i]) * r[i];
      rr += static_cast<long double>(r[i]) * r[i];
    }
    CHECK(close<T>(next.rz.value(), rz));
    CHECK(close<T>(next.rr.value(), rr));
  }

  void start() const {
    const Vector<T> r = waves<T>(n, 0.3);
    Vector<T> on_device = there(femcg::tests::poisoned<T>(n));
    Scalars scalars({});
    operations.start(there(r), diagonal_there, on_device, scalars.of[0]);
    const Vector<T> p = here(on_device);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) right = right && close_entry<T>(p[i], solved(i, r[i]), 4);
    CHECK(right);
    check_norms(scalars.of[0], r);
  }

  void update() const {
    const Vector<T> q = waves<T>(n, 0.5), before = waves<T>(n, 0.7);
    Vector<T> on_device = there(before);
    Scalars scalars({{rz_at, 3}, {energy_at, 4}});
    operations.update(scalars.of[0], there(q), diagonal_there, on_device, scalars.of[1]);
    const Vector<T> r = here(on_device);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i)
      right = right && close_entry<T>(r[i], before[i] - 0.75L * q[i], before[i] + 0.75L * q[i]);
    CHECK(right);
    check_norms(scalars.of[1], r);
  }

  void direction() const {
    const Vector<T> r = waves<T>(n, 0.8), p_before = waves<T>(n, 0.9), x_before = waves<T>(n, 0.6);
    Vector<T> p_there = there(p_before), x_there = there(x_before);
    Scalars scalars({{rz_at, 8}, {energy_at, 4}, {CgScalars::count + rz_at, 1}});
    if (device() == Device::cuda) {  // cuBLAS retains alpha and M^-1 r from the previous update
      Vector<T> of_update = there(r);
      Scalars same({{rz_at, 8}, {energy_at, 4}});
      const Vector<T> no_step = there(zeros());
      operations.update(same.of[0], no_step, diagonal_there, of_update, same.of[1]);
      operations.direction(scalars.of[0], scalars.of[1], of_update, diagonal_there, p_there, x_there);
    } else {
      operations.direction(scalars.of[0], scalars.of[1], there(r), diagonal_there, p_there, x_there);
    }
    const Vector<T> p = here(p_there), x = here(x_there);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double exact = solved(i, r[i]) + 0.125L * p_before[i], moved = x_before[i] + 2.0L * p_before[i];
      right = right && close_entry<T>(p[i], exact, exact) && close_entry<T>(x[i], moved, moved);
    }
    CHECK(right);
  }

  /// alpha = 3 / 4 and 1 / 2, beta = 1 / 3 and 5.
  void paired_directions() const {
    const DelayedUpdate<Vector<T>>* delayed_update = operations.delayed_update();
    if (delayed_update == nullptr) return;
    const Vector<T> r = waves<T>(n, 0.8), p = waves<T>(n, 0.9), x_before = waves<T>(n, 0.6),
                    poison = femcg::tests::poisoned<T>(n);
    Scalars scalars({{rz_at, 3},
                     {energy_at, 4},
                     {CgScalars::count + rz_at, 1},
                     {CgScalars::count + energy_at, 2},
                     {2 * CgScalars::count + rz_at, 5}});
    Vector<T> second_there = there(poison), p_there = there(p), x_there = there(x_before);
    delayed_update->delay_update(scalars.of[0], scalars.of[1], there(r), diagonal_there, p_there, second_there);
    const Vector<T> second = here(second_there);
    delayed_update->catch_up(scalars.of[0], scalars.of[1], scalars.of[2], there(r), diagonal_there, second_there,
                             p_there, x_there);
    const Vector<T> x = here(x_there), next = here(p_there);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double of_second = solved(i, r[i]) + p[i] / 3.0L, of_next = solved(i, r[i]) + 5.0L * second[i];
      const long double moved = x_before[i] + 0.75L * p[i] + 0.5L * second[i];
      right = right && close_entry<T>(second[i], of_second, of_second) && close_entry<T>(next[i], of_next, of_next);
      right = right && close_entry<T>(x[i], moved, moved);
    }
    CHECK(right);
  }

  /// beta = 2 / 4, energy = 5 - beta^2 8 = 3, alpha = 2 / 3.
  void advance() const {
    const Vector<T> w = waves<T>(n, 0.3), p_before = waves<T>(n, 0.4), s_before = waves<T>(n, 0.5),
                    x_before = waves<T>(n, 0.6), r_before = waves<T>(n, 0.7), u_before = waves<T>(n, 0.8);
    SingleReduction<T> v{there(u_before), there(w), there(p_before), there(s_before)};
    Vector<T> x_there = there(x_before), r_there = there(r_before);
    Scalars scalars({{rz_at, 4}, {energy_at, 8}, {CgScalars::count + rz_at, 2}, {CgScalars::count + uw_at, 5}});
    operations.advance(scalars.of[0], scalars.of[1], v, diagonal_there, x_there, r_there, scalars.of[2]);
    const Vector<T> p = here(v.p), s = here(v.s), x = here(x_there), r = here(r_there), u = here(v.u);
    const long double alpha = 2.0L / 3, beta = 0.5L;
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double of_u = diagonal_here != nullptr ? u_before[i] : r_before[i];
      const long double of_p = of_u + beta * p_before[i], of_s = w[i] + beta * s_before[i];
      right = right && close_entry<T>(p[i], of_p, of_p) && close_entry<T>(s[i], of_s, of_s);
      right = right && close_entry<T>(x[i], x_before[i] + alpha * of_p, x_before[i] + alpha * of_p);
      right = right && close_entry<T>(r[i], r_before[i] - alpha * of_s, r_before[i] + alpha * of_s);
      if (diagonal_here != nullptr) right = right && close_entry<T>(u[i], solved(i, r[i]), 10);
    }
    CHECK(right);
    CHECK(scalars.of[1].energy.value() == doctest::Approx(3));
    check_norms(scalars.of[2], r);
  }

  /// The same scalars.
  void advance_pipelined() const {
    const Vector<T> n_before = waves<T>(n, 0.2), w_before = waves<T>(n, 0.3), p_before = waves<T>(n, 0.4),
                    s_before = waves<T>(n, 0.5), x_before = waves<T>(n, 0.6), r_before = waves<T>(n, 0.7),
                    z_before = waves<T>(n, 0.9);
    SingleReduction<T> v{Vector<T>(0, device()), there(w_before), there(p_before), there(s_before)};
    Pipelined<T> ahead{there(femcg::tests::poisoned<T>(n)), there(n_before), there(z_before)};
    Vector<T> x_there = there(x_before), r_there = there(r_before);
    Scalars scalars({{rz_at, 4}, {energy_at, 8}, {CgScalars::count + rz_at, 2}, {CgScalars::count + uw_at, 5}});
    operations.advance_pipelined(scalars.of[0], scalars.of[1], v, ahead, diagonal_there, x_there, r_there,
                                 scalars.of[2]);
    operations.complete_sums(scalars.of[2]);
    const Vector<T> p = here(v.p), s = here(v.s), w = here(v.w), z = here(ahead.z), m = here(ahead.m),
                    x = here(x_there), r = here(r_there);
    const long double alpha = 2.0L / 3, beta = 0.5L;
    bool right = true;
    long double uw = 0, terms = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double of_p = solved(i, r_before[i]) + beta * p_before[i], of_s = w_before[i] + beta * s_before[i],
                        of_z = n_before[i] + beta * z_before[i];
      right = right && close_entry<T>(p[i], of_p, 10) && close_entry<T>(s[i], of_s, of_s);
      right = right && close_entry<T>(z[i], of_z, of_z) && close_entry<T>(x[i], x_before[i] + alpha * of_p, 10);
      right = right && close_entry<T>(r[i], r_before[i] - alpha * of_s, r_before[i] + alpha * of_s);
      right = right && close_entry<T>(w[i], w_before[i] - alpha * of_z, w_before[i] + alpha * of_z);
      if (diagonal_here != nullptr) right = right && close_entry<T>(m[i], solved(i, w[i]), 10);
      uw += solved(i, r[i]) * w[i];
      terms += std::abs(solved(i, r[i]) * w[i]);
    }
    CHECK(right);
    CHECK(scalars.of[1].energy.value() == doctest::Approx(3));
    CHECK(std::abs(scalars.of[2].uw.value() - uw) <= 8 * std::numeric_limits<T>::epsilon() * terms);
    check_norms(scalars.of[2], r);
  }

  void chebyshev() const {
    if (diagonal_there == nullptr) return;
    const Vector<T> r = waves<T>(n, 0.3), q = waves<T>(n, 0.5);
    Vector<T> d_there = there(femcg::tests::poisoned<T>(n)), z_there = there(femcg::tests::poisoned<T>(n));
    chebyshev_first(0.75, there(r), *diagonal_there, d_there, z_there);
    const Vector<T> d = here(d_there), z = here(z_there);
    chebyshev_next(0.5, 0.25, there(r), there(q), *diagonal_there, d_there, z_there);
    const Vector<T> next_d = here(d_there), next_z = here(z_there);
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) {
      const long double of_d = 0.75L * solved(i, r[i]),
                        step = 0.5L * d[i] + 0.25L * (solved(i, r[i]) - solved(i, q[i]));
      right = right && close_entry<T>(d[i], of_d, of_d) && z[i] == d[i];
      right = right && close_entry<T>(next_d[i], step, 10) && close_entry<T>(next_z[i], z[i] + step, 20);
    }
    CHECK(right);
  }

  void dot() const {
    const Vector<T> a = waves<T>(n, 1.1), b = waves<T>(n, 1.3);
    Scalars scalars({});
    operations.dot(there(a), there(b), scalars.of[0].energy);
    long double exact = 0;
    for (std::int64_t i = 0; i < n; ++i) exact += static_cast<long double>(a[i]) * b[i];
    CHECK(close<T>(scalars.of[0].energy.value(), exact));
  }

  Vector<T> zeros() const {
    Vector<T> vector(n);
    fill(vector, T(0));
    return vector;
  }
};

}  // namespace

TEST_CASE("what was copied there and back is what it was, around the pieces that large copies are made of") {
  constexpr std::int64_t piece = (16 << 20) / sizeof(std::int32_t);
  for (const std::int64_t size :
       {std::int64_t{3}, std::int64_t{300007}, 2 * piece - 1, 2 * piece, 2 * piece + 1, 3 * piece, 4 * piece + 5}) {
    CAPTURE(size);
    Vector<std::int32_t> numbers(size);
    for (std::int64_t i = 0; i < size; ++i) numbers[i] = static_cast<std::int32_t>(i * 2654435761);
    const Vector<std::int32_t> there = copied(numbers, device());
    for (int times = 0; times < 2; ++times) {
      const Vector<std::int32_t> back = copied(there, Device::host);
      CHECK(std::memcmp(numbers.data(), back.data(), static_cast<std::size_t>(numbers.bytes())) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("passes equal plain loops", T, double, float) {
  const auto library = baseline<T>();
  const auto& of_library = dynamic_cast<const WithVectorKernels<T>&>(*library).vector_kernels();
  for (const VectorKernels<T>* operations : {&vector_kernels<T>(device()), &of_library})
    for (const std::int64_t n : sizes) {
      CAPTURE(n);
      CAPTURE(operations == &of_library);
      const InverseDiagonal diagonal = waves<float>(n, 0.2), on_device = there(diagonal);
      for (const bool with_diagonal : {false, true}) {
        const Checks<T> checks{*operations, n, with_diagonal ? &diagonal : nullptr,
                               with_diagonal ? &on_device : nullptr};
        checks.start();
        checks.update();
        checks.direction();
        checks.paired_directions();
        checks.advance();
        checks.advance_pipelined();
        checks.chebyshev();
        checks.dot();
      }
    }
}

TEST_CASE_TEMPLATE("sums are in double precision and the same to the bit, however often they are made", T, double,
                   float) {
  const std::int64_t n = 100003;
  const Vector<T> a = waves<T>(n, 0.11), b = waves<T>(n, 0.13);
  const InverseDiagonal diagonal = there(waves<float>(n, 0.17));
  const VectorKernels<T>& operations = vector_kernels<T>(device());
  double dot = 0, rz = 0, rr = 0;
  for (const int threads : {1, 2, 3, 5}) {
    const Threads so_many(threads);
    Vector<T> r = there(b);
    Scalars scalars({{rz_at, 3}, {energy_at, 4}});
    operations.dot(there(a), there(b), scalars.of[2].energy);
    operations.update(scalars.of[0], there(b), &diagonal, r, scalars.of[1]);
    if (threads == 1) {
      dot = scalars.of[2].energy.value();
      rz = scalars.of[1].rz.value();
      rr = scalars.of[1].rr.value();
    }
    CHECK(scalars.of[2].energy.value() == dot);
    CHECK(scalars.of[1].rz.value() == rz);
    CHECK(scalars.of[1].rr.value() == rr);
  }
  long double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) exact += static_cast<long double>(a[i]) * b[i];
  CHECK(std::abs(dot - exact) <= 1e-13L * exact);
}

TEST_CASE("places between two orderings of one vector lead from one to the other") {
  const auto ordering = [](std::int64_t n, std::int64_t step) {  // n and step are coprime
    Vector<std::int32_t> order(n);
    for (std::int64_t i = 0; i < n; ++i) order[i] = static_cast<std::int32_t>(i * step % n);
    return order;
  };
  for (const std::int64_t n : {1, 5, 509, 4099}) {
    const Vector<std::int32_t> a = copied(ordering(n, 3), device()), b = copied(ordering(n, 7), device());
    CHECK(places_between(a, copied(a, device()), n).size() == 0);
    CHECK(places_between({}, {}, n).size() == 0);
    if (n == 1) continue;
    for (const auto& [from, to] : {std::pair{&a, &b}, {&b, &a}}) {
      const Vector<std::int32_t> places = copied(places_between(*from, *to, n), Device::host),
                                 of_from = copied(*from, Device::host), of_to = copied(*to, Device::host);
      REQUIRE(places.size() == n);
      for (std::int64_t i = 0; i < n; ++i) CHECK(of_from[places[i]] == of_to[i]);
    }
    const Vector<std::int32_t> natural = copied(places_between({}, a, n), Device::host);
    for (std::int64_t i = 0; i < n; ++i) CHECK(natural[i] == copied(a, Device::host)[i]);
  }
}

TEST_CASE_TEMPLATE("entries are cleared where that is asked for", T, double, float) {
  Vector<T> vector = copied(waves<T>(1000, 0.3), device());
  const std::vector<std::int32_t> places{0, 7, 512, 999};
  clear_at(places, vector);
  clear_at({}, vector);
  const Vector<T> cleared = copied(vector, Device::host), before = waves<T>(1000, 0.3);
  for (std::int32_t i = 0; i < 1000; ++i) CHECK(cleared[i] == (std::ranges::count(places, i) > 0 ? T(0) : before[i]));
}

TEST_CASE_TEMPLATE("the pseudo-random start is the same in every ordering, on every device", T, double, float) {
  constexpr std::int64_t n = 5003;
  const InverseDiagonal inverse = waves<float>(n, 0.7);  // one entry per unknown
  Vector<std::int32_t> order(n);
  InverseDiagonal in_order(n);
  for (std::int64_t i = 0; i < n; ++i) {
    order[i] = static_cast<std::int32_t>(i * 11 % n);
    in_order[i] = inverse[order[i]];
  }
  const Vector<T> natural = copied(random_residual<T>(copied(inverse, device()), {}), Device::host),
                  ordered =
                      copied(random_residual<T>(copied(in_order, device()), copied(order, device())), Device::host);
  std::vector<std::int64_t> numbers(n);
  for (std::int64_t k = 0; k < n; ++k) numbers[static_cast<std::size_t>(k)] = 3 * k + (std::int64_t{1} << 33);
  const Vector<T> shared = copied(random_residual<T>(copied(inverse, device()), {}, numbers), Device::host);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    CHECK(ordered[i] == natural[order[i]]);
    const double root = std::sqrt(static_cast<double>(inverse[i]));
    CHECK(static_cast<double>(natural[i]) * root == doctest::Approx(random_number(i)).epsilon(1e-6));
    CHECK(static_cast<double>(shared[i]) * root ==
          doctest::Approx(random_number(numbers[static_cast<std::size_t>(i)])).epsilon(1e-6));
    CHECK(std::abs(random_number(i)) <= 1);
    sum += random_number(i);
    squares += random_number(i) * random_number(i);
  }
  CHECK(std::abs(sum / n) < 0.03);
  CHECK(squares / n == doctest::Approx(1.0 / 3).epsilon(0.03));
}

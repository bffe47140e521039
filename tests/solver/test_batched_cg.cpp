// CG for several right-hand sides at once: its kernels compared with those of one vector, and every system compared
// with solving it alone.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "operators/backend/passes/multi_vector_kernels.hpp"
#include "operators/catalogue.hpp"
#include "solver/krylov/batched_cg.hpp"
#include "solver/krylov/preconditioner.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgResult;
using solver::StopReason;
using solver::SystemsCgOptions;
using solver::SystemsIteration;
using tests::column;
using tests::columns_of;
using tests::dense;
using tests::from_eigen;
using tests::list_of;
using tests::on_device;
using tests::random_vector;
using tests::Spectrum;

namespace {

/// Largest difference relative to the largest entry.
template <class T>
double difference(const Vector<T>& a, const Vector<T>& b) {
  double most = 0, largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double now = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(now <= most)) most = now;  // also for NaN
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return largest > 0 ? most / largest : most;
}

double number(const MultiScalar& of, int c) {
  double value = 0;
  copy_bytes(of.data() + c, of.device(), &value, Device::host, sizeof value);
  return value;
}

/// Checks the kernels of one iteration for `count` columns of `rows` entries, of which every third is frozen.
template <class T>
void check_passes(std::int64_t rows, int count, bool with_diagonal) {
  CAPTURE(rows);
  CAPTURE(count);
  CAPTURE(with_diagonal);
  const double few = 8 * std::numeric_limits<T>::epsilon(),
               of_sums = few * std::sqrt(static_cast<double>(std::max<std::int64_t>(rows, 1)));
  std::vector<Vector<T>> r, q, x;
  for (int c = 0; c < count; ++c) {
    r.push_back(random_vector<T>(rows, 3 * c));
    q.push_back(random_vector<T>(rows, 3 * c + 1));
    x.push_back(random_vector<T>(rows, 3 * c + 2));
  }
  const InverseDiagonal diagonal = on_device(random_vector<float>(rows, 999, 0.5));
  const InverseDiagonal* inverse_diagonal = with_diagonal ? &diagonal : nullptr;
  MultiVector<T> of_r = columns_of(r), of_q = columns_of(q), of_x = columns_of(x), of_p(rows, count, tests::device());
  const int stride = of_r.stride();
  Vector<double> numbers(6 * stride, tests::device()), ones(stride);
  clear(numbers);
  for (int c = 0; c < stride; ++c) ones[c] = c < count && c % 3 != 2 ? 1 : 0;
  Vector<double> running_numbers = on_device(ones);
  const MultiScalar running(running_numbers, 0, stride);
  CgMultiScalars now(numbers, 0, running), next(numbers, 3 * stride, running);
  const MultiVectorKernels<T>& operations = multi_vector_kernels<T>(tests::device());
  operations.start(of_r, inverse_diagonal, of_p, now);
  operations.dot(of_r, of_r, now.energy);
  operations.update(now, of_q, inverse_diagonal, of_r, next);
  operations.direction(now, next, of_r, inverse_diagonal, of_p, of_x);

  const VectorKernels<T>& alone = vector_kernels<T>(tests::device());
  for (int c = 0; c < count; ++c) {
    CAPTURE(c);
    const auto at = static_cast<std::size_t>(c);
    Vector<T> r_c = on_device(r[at]), p_c(rows, tests::device()), x_c = on_device(x[at]);
    Vector<double> own(2 * CgScalars::count, tests::device());
    clear(own);
    CgScalars now_c(own, 0), next_c(own, CgScalars::count);
    alone.start(r_c, inverse_diagonal, p_c, now_c);
    CHECK(number(now.rz, c) == doctest::Approx(now_c.rz.value()).epsilon(of_sums));
    CHECK(number(now.rr, c) == doctest::Approx(now_c.rr.value()).epsilon(of_sums));
    alone.dot(r_c, r_c, now_c.energy);
    CHECK(number(now.energy, c) == doctest::Approx(now_c.energy.value()).epsilon(of_sums));
    if (ones[c] == 0) {
      CHECK(difference(column(of_r, c), r[at]) == 0);
      CHECK(difference(column(of_x, c), x[at]) == 0);
      continue;
    }
    alone.update(now_c, on_device(q[at]), inverse_diagonal, r_c, next_c);
    CHECK(number(next.rz, c) == doctest::Approx(next_c.rz.value()).epsilon(of_sums));
    CHECK(number(next.rr, c) == doctest::Approx(next_c.rr.value()).epsilon(of_sums));
    alone.direction(now_c, next_c, r_c, inverse_diagonal, p_c, x_c);
    CHECK(difference(column(of_r, c), copied(r_c, Device::host)) <= few);
    CHECK(difference(column(of_p, c), copied(p_c, Device::host)) <= of_sums);
    CHECK(difference(column(of_x, c), copied(x_c, Device::host)) <= of_sums);
  }
}

template <class T>
std::vector<CgResult> solve(const Operator<T>& a, const std::vector<Vector<T>>& b, std::vector<std::vector<double>>& x,
                            const SystemsCgOptions<T>& options = {}) {
  return solver::batched_conjugate_gradients<T>(a, b, x, options);
}

/// Checks that two iterations with a joint update of x equal two separate ones.
template <class T>
void check_delayed_update(const Operator<T>& a, int count) {
  CAPTURE(count);
  std::vector<Vector<T>> b;
  for (int c = 0; c < count; ++c) b.push_back(random_vector<T>(a.size(), 700 + c));
  const auto x_with = [&](std::int64_t check_every) {
    SystemsCgOptions<T> options;
    options.check_every = check_every;
    options.max_iterations = 6;  // a batch with an odd number of iterations ends with a single one
    std::vector<std::vector<double>> x;
    for (const CgResult& result : solve(a, b, x, options)) CHECK(result.iterations == 6);
    return x;
  };
  const auto alone = x_with(1), in_pairs = x_with(2), with_one_more = x_with(3);
  for (std::size_t c = 0; c < b.size(); ++c)
    for (std::size_t i = 0; i < alone[c].size(); ++i) {
      CHECK(std::abs(in_pairs[c][i] - alone[c][i]) <= 1e-12);
      CHECK(std::abs(with_one_more[c][i] - alone[c][i]) <= 1e-12);
    }
}

/// Compares every system with solving it alone.
template <class T>
void check_against_alone(const Operator<T>& a, const std::vector<Vector<T>>& b,
                         const solver::Preconditioner<T>* preconditioner, double tolerance) {
  SystemsCgOptions<T> options;
  options.tolerance = tolerance;
  options.preconditioner = preconditioner;
  std::vector<std::vector<double>> x;
  const std::vector<CgResult> results = solve(a, b, x, options);
  REQUIRE(results.size() == b.size());
  solver::CgOptions<T> alone;
  alone.tolerance = tolerance;
  alone.method = solver::CgMethod::classic;
  alone.preconditioner = preconditioner;
  for (std::size_t c = 0; c < b.size(); ++c) {
    CAPTURE(c);
    std::vector<double> expected;
    const CgResult of = solver::conjugate_gradients(a, copied(b[c], tests::device()), expected, alone);
    CHECK(results[c].method == solver::CgMethod::batched);
    CHECK(std::abs(results[c].iterations - of.iterations) <= 1 + of.iterations / 50);
    tests::check_solution(results[c], x[c], of, expected, tolerance);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("the passes of columns are those of each vector", T, double, float) {
  for (const int count : tests::column_counts)
    for (const std::int64_t rows : {1, 31, 511, 513, 4099})
      for (const bool with_diagonal : {false, true}) check_passes<T>(rows, count, with_diagonal);
}

TEST_CASE("every system comes out as alone: operators of every kind, preconditioners, numbers of systems") {
  tests::for_systems([](const Operator<double>& a, const std::vector<Vector<double>>& b, const auto* preconditioner) {
    check_against_alone(a, b, preconditioner, 1e-9);
  });
}

TEST_CASE("two iterations with one pass over x are two iterations") {
  const auto a = dense<double>(Spectrum(50, 1000).matrix());
  for (const int count : {1, 2, 3, 8, 17}) check_delayed_update(*a, count);
}

TEST_CASE("single precision is refined to a tolerance that it does not have") {
  tests::check_refinement(solve<float>, 5);
}

TEST_CASE("systems that are done early are dropped, and the others go on as if nothing were") {
  const Spectrum spectrum(60, 1000);
  const auto a = dense<double>(spectrum.matrix());
  // An eigenvector takes one iteration, the sum of n eigenvectors n.
  std::vector<Vector<double>> b;
  std::vector<int> expected;
  for (const int many : {1, 40, 2, 1, 3, 1, 12, 1, 1}) {
    Eigen::VectorXd of = Eigen::VectorXd::Zero(60);
    for (int i = 0; i < many; ++i) of += spectrum.vectors.col(i * 60 / many);
    b.push_back(from_eigen<double>(of));
    expected.push_back(many);
  }
  SystemsCgOptions<double> options;
  options.tolerance = 1e-10;
  std::vector<int> running;
  options.monitor = [&](const SystemsIteration& iteration) {
    running.push_back(iteration.running);
    return true;
  };
  std::vector<std::vector<double>> x;
  const std::vector<CgResult> results = solve(*a, b, x, options);
  for (std::size_t c = 0; c < b.size(); ++c) {
    CAPTURE(c);
    CHECK(results[c].reason == StopReason::converged);
    CHECK(results[c].iterations >= std::min(expected[c], 20));
    CHECK(results[c].iterations <= expected[c] + 3);
    const Eigen::VectorXd exact =
        spectrum.matrix().ldlt().solve(Eigen::Map<const Eigen::VectorXd>(b[c].data(), b[c].size()));
    CHECK((Eigen::Map<const Eigen::VectorXd>(x[c].data(), 60) - exact).norm() <= 1e-7 * exact.norm());
  }
  CHECK(running.front() == 9);
  CHECK(std::ranges::is_sorted(running, std::greater<>()));
  CHECK(running.back() == 0);
}

TEST_CASE("equal and dependent systems, zero, and every reason to stop") {
  const Spectrum spectrum(40, 50);
  const auto a = dense<double>(spectrum.matrix());
  const auto equal_to = [&](std::size_t seed) { return random_vector<double>(40, static_cast<unsigned>(seed)); };
  std::vector<Vector<double>> b;
  for (const std::size_t seed : {1, 1, 2}) b.push_back(equal_to(seed));
  b.push_back(Vector<double>(40));
  fill(b.back(), 0.0);
  b.push_back(Vector<double>(40));
  for (int i = 0; i < 40; ++i) b.back()[i] = b[0][i] + b[2][i];
  b.push_back(Vector<double>(40));
  fill(b.back(), std::numeric_limits<double>::quiet_NaN());
  std::vector<std::vector<double>> x;
  std::vector<CgResult> results = solve(*a, b, x);
  for (const std::size_t c : {0, 1, 2, 3, 4}) CHECK(results[c].reason == StopReason::converged);
  CHECK(results[5].reason == StopReason::not_finite);
  CHECK(results[3].iterations == 0);
  CHECK(x[0] == x[1]);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(x[3][i] == 0);
    CHECK(x[4][i] == doctest::Approx(x[0][i] + x[2][i]).epsilon(1e-6));
  }

  tests::check_limits(solve<double>, *a, list_of(equal_to(1), equal_to(2)));
  // The user's stop ends all groups, though the last system of the first group finishes before it.
  std::vector<Vector<double>> many;
  for (std::size_t c = 0; c < 31; ++c) many.push_back(equal_to(c + 1));
  many.push_back(Vector<double>(40));
  fill(many.back(), 0.0);
  many.push_back(equal_to(99));
  int looked = 0;
  SystemsCgOptions<double> options;
  options.monitor = [&](const SystemsIteration&) { return ++looked < 4; };
  results = solve(*a, many, x, options);
  REQUIRE(results.size() == 32);
  CHECK(results.front().reason == StopReason::interrupted);
  CHECK(results.back().reason == StopReason::converged);
  Spectrum negative(40, 50);
  negative.values[39] = -1;
  const auto indefinite = dense<double>(negative.matrix());
  results = solve(*indefinite, list_of(equal_to(1), from_eigen<double>(negative.vectors.col(0))), x);
  CHECK(results[0].reason == StopReason::indefinite);
  CHECK(results[1].reason == StopReason::converged);
}

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "operators/catalogue.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/messages/error.hpp"
#include "tests/device.hpp"
#include "tests/stored_formats.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgOptions;
using solver::CgResult;
using solver::conjugate_gradients;
using solver::StopReason;

namespace {

Eigen::MatrixXd random_spd(int n, double condition) { return tests::Spectrum(n, condition).matrix(); }

/// Ingredients of csr and similar operators on the device of the tests.
template <class T>
Ingredients<T> from_rows(const tests::Rows<T>& rows) {
  Ingredients<T> from;
  from.device = tests::device();
  from.matrix = tests::compress(rows);
  return from;
}

/// -1 / (1 + distance) for each neighbour at most `reach` away in both directions, and a dominant diagonal.
template <class T>
tests::Rows<T> grid(int width, int height, int reach) {
  tests::Rows<T> rows(static_cast<std::size_t>(width * height));
  for (int i = 0; i < width * height; ++i) {
    const int x = i % width, y = i / width;
    double sum = 1;
    std::size_t self = 0;
    for (int v = std::max(0, y - reach); v <= std::min(height - 1, y + reach); ++v)
      for (int u = std::max(0, x - reach); u <= std::min(width - 1, x + reach); ++u) {
        const double value = 1.0 / (1 + std::abs(u - x) + std::abs(v - y));
        if (u == x && v == y) self = rows[i].size();
        rows[i].emplace_back(v * width + u, static_cast<T>(-value));
        sum += value;
      }
    rows[i][self].second = static_cast<T>(sum);
  }
  return rows;
}

/// A diagonal, and one dense row and column.
template <class T>
tests::Rows<T> arrow(std::int32_t size) {
  tests::Rows<T> rows(static_cast<std::size_t>(size));
  const std::int32_t dense = size / 3;
  for (std::int32_t i = 0; i < size; ++i) {
    const T coupling = static_cast<T>(-0.5 / size);
    if (i > dense) rows[i].emplace_back(dense, coupling);
    rows[i].emplace_back(i, T(2 + i % 3));
    if (i < dense) rows[i].emplace_back(dense, coupling);
    if (i != dense) continue;
    rows[i].clear();
    for (std::int32_t j = 0; j < size; ++j) rows[i].emplace_back(j, j == i ? T(2 + i % 3) : coupling);
  }
  return rows;
}

/// Recurrences and loops of this device, for the operator csr.
std::vector<std::pair<solver::CgMethod, solver::CgLoop>> ways() {
  using enum solver::CgMethod;
  std::vector<std::pair<solver::CgMethod, solver::CgLoop>> ways{{automatic, solver::CgLoop::automatic},
                                                                {classic, solver::CgLoop::launched},
                                                                {single_reduction, solver::CgLoop::launched},
                                                                {pipelined, solver::CgLoop::launched}};
  if (tests::device() == Device::cuda) ways.emplace_back(single_reduction, solver::CgLoop::persistent);
  return ways;
}

}  // namespace

TEST_CASE("CG solves what Eigen's Cholesky solves, with and without Jacobi") {
  for (const int n : {1, 2, 7, 63, 200}) {
    CAPTURE(n);
    const Eigen::MatrixXd dense = random_spd(n, 50);
    const Eigen::VectorXd rhs = Eigen::VectorXd::Random(n), expected = dense.llt().solve(rhs);
    const auto a = tests::dense<double>(dense);
    for (const char* preconditioner : {"none", "jacobi"}) {
      const auto inverse = solver::make_preconditioner<double>(preconditioner, *a);
      const Vector<double> b = tests::device_vector<double>(rhs);
      std::vector<double> x;
      CgOptions<double> options;
      options.tolerance = 1e-12;
      options.preconditioner = inverse.get();
      for (const auto& [method, loop] : ways()) {
        options.method = method;
        options.loop = loop;
        const CgResult result = conjugate_gradients(*a, b, x, options);
        CAPTURE(name(result.method));
        CAPTURE(name(result.loop));
        CHECK(result.reason == StopReason::converged);
        CHECK(result.true_relative_residual <= 1e-12);
        CHECK(result.history.size() == static_cast<std::size_t>(result.iterations) + 1);
        CHECK(result.history.front().relative_residual == doctest::Approx(1));
        for (int i = 0; i < n; ++i) CHECK(x[i] == doctest::Approx(expected[i]).epsilon(1e-9));
        if (n <= 7) CHECK(result.iterations <= n + 1);
      }
    }
  }
}

TEST_CASE_TEMPLATE("a persistent kernel makes the iterations of launched passes, wherever entries find room" *
                       tests::needs_gpu(),
                   T, double, float) {
  struct System {
    const char* what;
    tests::Rows<T> rows;
  };
  const int dense = sizeof(T) == 8 ? 1801 : 2411;
  const System systems[] = {{"all in the shared memory of one block of threads", grid<T>(31, 29, 1)},
                            {"all in shared memory", grid<T>(131, 127, 1)},
                            {"all in shared memory, rows of many lengths", grid<T>(67, 71, 4)},
                            {"more than shared memory holds", grid<T>(dense, 1, dense)},
                            {"a row that no window holds", arrow<T>(60013)}};
  for (const System& system : systems) {
    SUBCASE(system.what) {
      const Ingredients<T> from = from_rows(system.rows);
      for (const char* name : {"csr", "sell", "pjds"}) {
        CAPTURE(name);
        const auto a = find_operator(name)->template make<T>(from, {});
        const auto rows = static_cast<std::int64_t>(system.rows.size());
        Vector<T> b(rows);
        for (std::int64_t i = 0; i < rows; ++i) b[i] = static_cast<T>(1 + std::sin(static_cast<double>(i)));
        const Vector<T> load = copied(b, tests::device());
        for (const char* preconditioner : {"none", "jacobi"}) {
          CAPTURE(preconditioner);
          const auto inverse = solver::make_preconditioner<T>(preconditioner, *a);
          CgOptions<T> options;
          options.tolerance = 1e-30;
          options.max_iterations = 7;
          options.preconditioner = inverse.get();
          options.method = solver::CgMethod::single_reduction;
          options.loop = solver::CgLoop::launched;
          std::vector<double> expected, x, y;
          const CgResult launched = conjugate_gradients(*a, load, expected, options);
          CHECK(launched.iterations == options.max_iterations);
          options.loop = solver::CgLoop::persistent;
          const CgResult first = conjugate_gradients(*a, load, x, options);
          CHECK(first.loop == solver::CgLoop::persistent);
          CHECK(first.iterations == options.max_iterations);
          double difference = 0, size = 0;
          for (std::int64_t i = 0; i < rows; ++i) {
            difference = std::max(difference, std::abs(x[i] - expected[i]));
            size = std::max(size, std::abs(expected[i]));
          }
          CHECK(difference <= 1000 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size);
          // A second solve gives the same bits, also with another length of batches.
          for (const int batch : {0, 3}) {
            options.check_every = batch;
            CHECK(conjugate_gradients(*a, load, y, options).iterations == first.iterations);
            CHECK(x == y);
          }
        }
      }
    }
  }
}

TEST_CASE("a persistent kernel is refused where there is none") {
  const auto a = tests::dense<double>(Eigen::Vector2d(1, 4).asDiagonal());
  const Vector<double> b = tests::device_vector<double>(Eigen::Vector2d(1, 1));
  std::vector<double> x;
  CgOptions<double> options;
  options.loop = solver::CgLoop::persistent;
  if (tests::device() == Device::host) CHECK_THROWS_AS(conjugate_gradients(*a, b, x, options), solver::InputError);
  options.method = solver::CgMethod::classic;
  CHECK_THROWS_WITH_AS(conjugate_gradients(*a, b, x, options),
                       "the persistent kernel is of the single-reduction method: use solver.cg: single-reduction",
                       solver::InputError);
}

TEST_CASE("the first iterates are those of the textbook") {
  // A = diag(1, 4), b = (1, 1): alpha_0 = 2/5, x_1 = (2/5, 2/5), r_1 = (3/5, -3/5); two steps give x = (1, 1/4).
  const auto a = tests::dense<double>(Eigen::Vector2d(1, 4).asDiagonal());
  const Vector<double> b = tests::device_vector<double>(Eigen::Vector2d(1, 1));
  std::vector<double> x;
  CgOptions<double> options;
  options.max_iterations = 1;
  CgResult result = conjugate_gradients(*a, b, x, options);
  CHECK(result.reason == StopReason::max_iterations);
  CHECK(result.iterations == 1);
  CHECK(x[0] == doctest::Approx(0.4));
  CHECK(x[1] == doctest::Approx(0.4));
  CHECK(result.relative_residual == doctest::Approx(0.6));
  options.max_iterations = 2;
  result = conjugate_gradients(*a, b, x, options);
  CHECK(result.reason == StopReason::converged);
  CHECK(x[0] == doctest::Approx(1));
  CHECK(x[1] == doctest::Approx(0.25));
}

TEST_CASE("every reason to stop is told apart") {
  const Eigen::MatrixXd good = random_spd(30, 1e4);
  const Vector<double> b = tests::device_vector<double>(Eigen::VectorXd::Ones(30));
  std::vector<double> x;
  SUBCASE("a zero load is solved by zero") {
    const CgResult result = conjugate_gradients(*tests::dense<double>(good),
                                                tests::device_vector<double>(Eigen::VectorXd::Zero(30)), x, {});
    CHECK(result.reason == StopReason::converged);
    CHECK(result.iterations == 0);
    for (int i = 0; i < 30; ++i) CHECK(x[i] == 0);
  }
  SUBCASE("indefinite") {
    Eigen::MatrixXd bad = good;
    bad.diagonal().array() -= 5e3;
    CHECK(conjugate_gradients(*tests::dense<double>(bad), b, x, {}).reason == StopReason::indefinite);
    CHECK(conjugate_gradients(*tests::dense<double>(-good), b, x, {}).reason == StopReason::indefinite);
    CHECK_THROWS_AS(solver::make_preconditioner<double>("jacobi", *tests::dense<double>(-good)), solver::InputError);
  }
  SUBCASE("not finite") {
    Eigen::MatrixXd bad = good;
    bad(3, 3) = std::numeric_limits<double>::quiet_NaN();
    CHECK(conjugate_gradients(*tests::dense<double>(bad), b, x, {}).reason == StopReason::not_finite);
    CHECK(conjugate_gradients(*tests::dense<double>(good),
                              tests::device_vector<double>(Eigen::VectorXd::Constant(30, INFINITY)), x, {})
              .reason == StopReason::not_finite);
  }
  SUBCASE("stagnated: rounding does not allow the tolerance") {
    CgOptions<double> options;
    options.tolerance = 1e-18;
    const CgResult result = conjugate_gradients(*tests::dense<double>(good), b, x, options);
    CHECK(result.reason == StopReason::stagnated);
    CHECK(result.true_relative_residual > 1e-18);
    CHECK(result.true_relative_residual < 1e-11);
  }
  SUBCASE("single precision does not pretend to a tolerance that it cannot reach") {
    std::vector<double> y;
    CgOptions<float> options;
    options.tolerance = 1e-9;
    const CgResult result = conjugate_gradients(*tests::dense<float>(good),
                                                tests::device_vector<float>(Eigen::VectorXd::Ones(30)), y, options);
    CHECK(result.reason == StopReason::stagnated);
  }
  SUBCASE("single precision reaches any tolerance when its corrections are measured in double") {
    std::vector<double> y;
    CgOptions<float> options;
    options.tolerance = 1e-12;
    options.true_residual = [&](const std::vector<double>& at) {
      const Eigen::VectorXd residual =
          Eigen::VectorXd::Ones(30) - good * Eigen::Map<const Eigen::VectorXd>(at.data(), 30);
      return std::vector<double>(residual.data(), residual.data() + 30);
    };
    const CgResult result = conjugate_gradients(*tests::dense<float>(good),
                                                tests::device_vector<float>(Eigen::VectorXd::Ones(30)), y, options);
    CHECK(result.reason == StopReason::converged);
    const Eigen::VectorXd expected = good.llt().solve(Eigen::VectorXd::Ones(30));
    for (int i = 0; i < 30; ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  }
  SUBCASE("looking every few iterations finds the same, a little later") {
    CgOptions<double> options;
    const CgResult each = conjugate_gradients(*tests::dense<double>(good), b, x, options);
    options.check_every = 7;
    std::vector<double> y;
    const CgResult seldom = conjugate_gradients(*tests::dense<double>(good), b, y, options);
    CHECK(seldom.reason == StopReason::converged);
    CHECK(seldom.iterations == each.iterations);
    for (std::size_t i = 0; i < each.history.size(); ++i)
      CHECK(seldom.history[i].relative_residual == each.history[i].relative_residual);
  }
  SUBCASE(
      "a residual that goes up and down about the tolerance, which x passes before the host looks, is no rounding") {
    constexpr int n = 600;
    tests::Rows<double> rows(n);
    for (int i = 0; i < n; ++i) rows[i].emplace_back(i, std::pow(10.0, 5.0 * i / n));
    const auto a = find_operator("csr")->make<double>(from_rows(rows), {});
    const auto ones = tests::device_vector<double>(Eigen::VectorXd::Ones(n));
    for (const int check_every : {16, 64})
      for (double tolerance = 0.1; tolerance > 1e-7; tolerance /= 1.3) {
        CAPTURE(check_every);
        CAPTURE(tolerance);
        CgOptions<double> options;
        options.method = solver::CgMethod::classic;
        options.check_every = check_every;
        options.tolerance = tolerance;
        options.max_iterations = 100'000;
        const CgResult result = conjugate_gradients(*a, ones, x, options);
        CHECK(result.reason == StopReason::converged);
        CHECK(result.true_relative_residual <= tolerance);
      }
  }
  SUBCASE("x is the same after an even and an odd number of iterations, whether it moves in each or in every second") {
    const auto a = tests::dense<double>(good);
    for (const char* preconditioner : {"none", "jacobi"})
      for (const std::int64_t iterations : {6, 7, 8}) {
        const auto inverse = solver::make_preconditioner<double>(preconditioner, *a);
        CgOptions<double> options;
        options.method = solver::CgMethod::classic;
        options.tolerance = 1e-30;
        options.max_iterations = iterations;
        options.preconditioner = inverse.get();
        options.check_every = 1;
        std::vector<double> y;
        CHECK(!conjugate_gradients(*a, b, x, options).delayed_update);
        options.check_every = 4;
        CHECK(conjugate_gradients(*a, b, y, options).delayed_update);
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(y[i] - x[i]) <= 1e-13);
      }
  }
  SUBCASE("interrupted, and the iterate so far is kept") {
    CgOptions<double> options;
    options.monitor = [](const solver::Iteration& iteration) { return iteration.number < 3; };
    const CgResult result = conjugate_gradients(*tests::dense<double>(good), b, x, options);
    CHECK(result.reason == StopReason::interrupted);
    CHECK(result.iterations == 3);
    CHECK(x[0] != 0);
  }
  SUBCASE("a residual that is far from the recurrence's is found out") {
    // The recurrence uses A; the true residual is computed with another operator, 1.01 A.
    const auto a = tests::dense<double>(good);
    const Eigen::MatrixXd other = 1.01 * good;
    CgOptions<double> options;
    options.true_residual = [&](const std::vector<double>& at) {
      const Eigen::VectorXd residual =
          Eigen::VectorXd::Ones(30) - other * Eigen::Map<const Eigen::VectorXd>(at.data(), 30);
      return std::vector<double>(residual.data(), residual.data() + 30);
    };
    // Restarts from the true residual converge to the solution of the true system (iterative refinement).
    const CgResult result = conjugate_gradients(*a, b, x, options);
    CHECK(result.reason == StopReason::converged);
    const Eigen::VectorXd expected = other.llt().solve(Eigen::VectorXd::Ones(30));
    for (int i = 0; i < 30; ++i) CHECK(x[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

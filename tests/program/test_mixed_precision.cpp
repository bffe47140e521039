// CG with reliable updates: products and vectors in single precision, with the accuracy of double precision.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/messages/error.hpp"
#include "tests/device.hpp"
#include "tests/program.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgOptions;
using solver::CgResult;
using solver::conjugate_gradients;
using solver::StopReason;

namespace {

/// Matrix with eigenvalues from 1 to the condition number, distributed such that CG takes many iterations.
Eigen::MatrixXd spectrum(int n, double condition) {
  tests::Spectrum made(n, condition);
  made.values = Eigen::VectorXd::LinSpaced(n, 0, std::log(condition)).array().exp();
  return made.matrix();
}

/// CG in single precision with reliable updates, with residuals recomputed in double precision from the matrix.
CgResult mixed(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& b, const solver::Preconditioner<float>* with,
               double tolerance, std::vector<double>& x, std::int64_t max_iterations = 10000,
               double reliable_update = 0.1, std::int64_t check_every = 0) {
  const auto a = tests::dense<float>(matrix);
  CgOptions<float> options;
  options.reliable_update = reliable_update;
  options.check_every = check_every;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  options.preconditioner = with;
  options.true_residual = [&](const std::vector<double>& at) {
    const Eigen::VectorXd r = b - matrix * Eigen::Map<const Eigen::VectorXd>(at.data(), b.size());
    return std::vector<double>(r.begin(), r.end());
  };
  return conjugate_gradients<float>(*a, tests::device_vector<float>(b), x, options);
}

}  // namespace

TEST_CASE("reliable updates reach what double precision does, in less than twice the iterations") {
  for (const double condition : {1e2, 1e4}) {
    CAPTURE(condition);
    const int n = 120;
    // Entries that single precision represents exactly, so that both solve the same system.
    const Eigen::MatrixXd matrix = spectrum(n, condition).cast<float>().cast<double>();
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 1, 2).cast<float>().cast<double>();
    const auto exact = tests::dense<double>(matrix);
    CgOptions<double> options;
    options.tolerance = 1e-11;
    options.method = solver::CgMethod::classic;
    std::vector<double> x, y;
    const CgResult in_double = conjugate_gradients<double>(*exact, tests::device_vector<double>(b), x, options);
    REQUIRE(in_double.reason == StopReason::converged);
    const CgResult in_mixed = mixed(matrix, b, nullptr, 1e-11, y);
    CHECK(in_mixed.reason == StopReason::converged);
    CHECK(in_mixed.true_relative_residual <= 1e-11);
    const Eigen::VectorXd r = b - matrix * Eigen::Map<const Eigen::VectorXd>(y.data(), n);
    CHECK(r.norm() / b.norm() == doctest::Approx(in_mixed.true_relative_residual).epsilon(1e-6));
    INFO(in_double.iterations, " ", in_mixed.iterations);
    CHECK(static_cast<double>(in_mixed.iterations) <= 2 * static_cast<double>(in_double.iterations) + 20);
  }
}

// On a GPU an update comes some iterations after its residual.
TEST_CASE("reliable updates keep the direction: fewer iterations than restarts" * tests::needs_host()) {
  const int n = 200;
  const Eigen::MatrixXd matrix = spectrum(n, 3e3).cast<float>().cast<double>();
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 1, 2).cast<float>().cast<double>();
  std::vector<double> x, y;
  const CgResult kept = mixed(matrix, b, nullptr, 1e-10, x);
  REQUIRE(kept.reason == StopReason::converged);
  // Restarts at every reduction by ten: each loop ends at a tolerance of a tenth, and the next starts from its
  // residual.
  const auto a = tests::dense<float>(matrix);
  Eigen::VectorXd r = b;
  std::int64_t restarted = 0;
  for (int restart = 0; restart < 50 && r.norm() > 1e-10 * b.norm(); ++restart) {
    CgOptions<float> options;
    options.tolerance = 0.1;
    options.method = solver::CgMethod::classic;
    restarted += conjugate_gradients<float>(*a, tests::device_vector<float>(r / r.norm()), y, options).iterations;
    r -= r.norm() * (matrix * Eigen::Map<const Eigen::VectorXd>(y.data(), n));
  }
  INFO(kept.iterations, " ", restarted);
  CHECK(kept.iterations < restarted);
}

TEST_CASE("where reliable updates come to nothing, restarts without the direction go on") {
  const int n = 150;
  constexpr std::int64_t most = 200000, late = 32;  // as on a GPU, whose host examines past batches
  for (const double condition : {1e4, 1e5, 3e5, 1e6, 2e6}) {
    const Eigen::MatrixXd matrix = spectrum(n, condition).cast<float>().cast<double>();
    for (const double tolerance : {1e-7, 3e-8, 1e-8, 1e-9}) {
      CAPTURE(condition);
      CAPTURE(tolerance);
      const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 1, 2).cast<float>().cast<double>();
      std::vector<double> x;
      const CgResult restarted = mixed(matrix, b, nullptr, tolerance, x, most, 0, late);
      const CgResult updated = mixed(matrix, b, nullptr, tolerance, x, most, 0.1, late);
      INFO(restarted.iterations, " ", name(restarted.reason), " ", updated.iterations);
      if (restarted.reason == StopReason::converged) CHECK(name(updated.reason) == name(StopReason::converged));
    }
  }
}

TEST_CASE("what single precision cannot approach ends as stagnated, not as converged") {
  const int n = 60;
  const Eigen::MatrixXd matrix = spectrum(n, 1e11);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 1, 2);
  std::vector<double> x;
  const CgResult result = mixed(matrix, b, nullptr, 1e-10, x, 100000);
  INFO(name(result.reason));
  CHECK(result.reason != StopReason::converged);
  const Eigen::VectorXd r = b - matrix * Eigen::Map<const Eigen::VectorXd>(x.data(), n);
  CHECK(r.norm() / b.norm() == doctest::Approx(result.true_relative_residual).epsilon(1e-6));
}

TEST_CASE("reliable updates are of the classic recurrence in launched passes") {
  const Eigen::MatrixXd matrix = spectrum(10, 10);
  const auto a = tests::dense<float>(matrix);
  std::vector<double> x;
  CgOptions<float> options;
  options.reliable_update = 0.1;
  options.method = solver::CgMethod::single_reduction;
  CHECK_THROWS_AS(conjugate_gradients<float>(*a, tests::device_vector<float>(Eigen::VectorXd::Ones(10)), x, options),
                  solver::InputError);
}

TEST_CASE("reliable updates go with every preconditioner") {
  const int n = 150;
  Eigen::MatrixXd matrix = spectrum(n, 1e3);
  for (int i = 0; i < n; ++i) matrix(i, i) *= 1 + i % 3;
  matrix = matrix.cast<float>().cast<double>();
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, 1, 2).cast<float>().cast<double>();
  const auto a = tests::dense<float>(matrix);
  for (const char* name : {"none", "jacobi", "chebyshev"}) {
    CAPTURE(name);
    const auto with = solver::make_preconditioner<float>(name, *a);
    std::vector<double> x;
    const CgResult result = mixed(matrix, b, with.get(), 1e-11, x);
    CHECK(result.reason == StopReason::converged);
    const Eigen::VectorXd r = b - matrix * Eigen::Map<const Eigen::VectorXd>(x.data(), n);
    CHECK(r.norm() <= 1e-11 * b.norm());
  }
}

TEST_CASE("precision: mixed solves a case as double does, with every operator") {
  const std::string run =
      "$femcg run $cases/minimal.yaml --quiet --set equation.source=1 --set mesh.box.cells=[24,24] "
      "--set degree=2 --set solver.tolerance=1e-10 --set output.vtu=false --output ";
  std::string script = run + "double --operator csr || exit 1\ncat double/result.json > all\n";
  int count = 0;
  for (const OperatorDescription& row : catalogue())
    if (row.on_host.in_single != nullptr) {
      script += run + "made --operator " + std::string(row.name) + " --set solver.precision=mixed || exit 1\n" +
                "cat made/result.json >> all\n";
      ++count;
    }
  const tests::Result result = tests::shell(script + "cat all");
  REQUIRE(result.status == 0);
  std::istringstream stream(result.out);
  nlohmann::json in_double, here;
  stream >> in_double;
  const double iterations = in_double["solve"]["iterations"];
  for (int i = 0; i < count; ++i) {
    stream >> here;
    CAPTURE(here["operator"]["name"].get<std::string>());
    CHECK(here["operator"]["precision"] == "mixed");
    CHECK(here["solve"]["reason"] == "converged");
    CHECK(here["solve"]["true_relative_residual"].get<double>() <= 1e-10);
    CHECK(here["solve"]["iterations"].get<double>() <= 1.8 * iterations + 10);
    CHECK(here["quantities"]["integral"].get<double>() ==
          doctest::Approx(in_double["quantities"]["integral"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("what does not go with mixed precision is refused, with its place") {
  tests::check_refused("run $cases/minimal.yaml --set solver.precision=mixed --set solver.cg=block", "--set solver.cg");
  tests::check_refused("run $cases/minimal.yaml --set solver.precision=mixed --set solver.loop=resident",
                       "mixed goes with solver.loop: launched");
  tests::check_refused("compare $cases/minimal.yaml --set solver.precision=mixed --set equation.source=1",
                       "use solver.precision: single or double");
}

// Preconditioners alone and inside CG, compared with Eigen's dense matrices.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/chebyshev.hpp"
#include "solver/messages/error.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::make_preconditioner;
using solver::Preconditioner;

namespace {

/// A form and the ingredients of its operators.
template <class T>
struct System {
  explicit System(tests::SmallForm made)
      : small(std::move(made)),
        element_matrices(assemble_element_matrices(small.form)),
        from(tests::ingredients<T>(small.form, element_matrices)) {}
  std::unique_ptr<Operator<T>> make(std::string_view name) const { return find_operator(name)->make<T>(from, {}); }
  Eigen::MatrixXd dense() const {
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(small.form.unknowns, small.form.unknowns);
    const CsrMatrix<T>& matrix = *from.matrix;
    for (std::int32_t i = 0; i < matrix.rows; ++i)
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
        a(i, matrix.columns[k]) = static_cast<double>(matrix.values[k]);
    return a;
  }

  tests::SmallForm small;
  ElementMatrices element_matrices;
  Ingredients<T> from;
};

template <class T>
System<T> square(int degree = 2, std::array<int, 3> cells = {9, 7, 1}) {
  return System<T>(tests::make_form(mesh::CellShape::quadrilateral, degree, cells));
}

/// D^-1 rounded to single precision, as preconditioners use it (InverseDiagonal).
Eigen::VectorXd inverse_diagonal(const Eigen::MatrixXd& a) {
  return a.diagonal().cwiseInverse().cast<float>().cast<double>();
}

/// Eigenvalues and eigenvectors of D^-1 A: A V = D V Lambda, scaled to V'DV = I.
struct Spectrum {
  explicit Spectrum(const Eigen::MatrixXd& a) {
    const Eigen::VectorXd scale = inverse_diagonal(a).cwiseSqrt();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(scale.asDiagonal() * a * scale.asDiagonal());
    values = solved.eigenvalues();
    vectors = scale.asDiagonal() * solved.eigenvectors();
  }
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};

/// Chebyshev polynomial T_degree(x) for any real x.
double chebyshev_polynomial(int degree, double x) {
  if (std::abs(x) <= 1) return std::cos(degree * std::acos(x));
  const double size = std::cosh(degree * std::acosh(std::abs(x)));
  return x < 0 && degree % 2 == 1 ? -size : size;
}

/// M^-1 of the Chebyshev preconditioner by its formula, eigenvalue by eigenvalue.
Eigen::MatrixXd dense_chebyshev(const Spectrum& of, double largest, int degree, double ratio) {
  const double from = largest / ratio, to = 1.1 * largest, theta = (to + from) / 2, delta = (to - from) / 2;
  Eigen::VectorXd q(of.values.size());
  for (Eigen::Index i = 0; i < q.size(); ++i)
    q[i] = (1 - chebyshev_polynomial(degree, (theta - of.values[i]) / delta) /
                    chebyshev_polynomial(degree, theta / delta)) /
           of.values[i];
  return of.vectors * q.asDiagonal() * of.vectors.transpose();
}

template <class T>
double estimate(const Operator<T>& a) {
  return solver::largest_eigenvalue(a, solver::inverse_diagonal_of(a, "the test"));
}

Eigen::VectorXd waves(Eigen::Index size, double frequency) {
  Eigen::VectorXd vector(size);
  for (Eigen::Index i = 0; i < size; ++i) vector[i] = std::sin(frequency * static_cast<double>(i * i + 1));
  return vector;
}

/// Vector in natural order on the host.
template <class T>
Vector<T> on_host(const Eigen::VectorXd& values) {
  Vector<T> vector(values.size());
  for (Eigen::Index i = 0; i < values.size(); ++i) vector[i] = static_cast<T>(values[i]);
  return vector;
}

/// M^-1 r, written into a vector of NaN; r and the result are in natural order.
template <class T>
Eigen::VectorXd applied(const Preconditioner<T>& m, const Operator<T>& a, const Eigen::VectorXd& r) {
  Vector<T> z = copied(tests::poisoned<T>(a.size()), a.device());
  m.apply(to_ordering(a, on_host<T>(r)), z);
  const Vector<T> natural = copied(from_ordering(a, z), Device::host);
  return Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(natural.data(), natural.size()).template cast<double>();
}

template <class T>
solver::CgResult solve(const Operator<T>& a, const Eigen::VectorXd& b, const Preconditioner<T>* m,
                       solver::CgOptions<T> options, std::vector<double>& x) {
  options.preconditioner = m;
  return conjugate_gradients(a, copied(on_host<T>(b), a.device()), x, options);
}

}  // namespace

TEST_CASE_TEMPLATE("chebyshev is the polynomial of the formula, whatever its degree and interval", T, double, float) {
  const System<T> system = square<T>();
  const auto a = system.make("csr");
  const Spectrum spectrum(system.dense());
  const Eigen::VectorXd r = waves(a->size(), 0.7);
  for (const double ratio : {30.0, 7.5})
    for (int degree = 1; degree <= 16; ++degree) {
      CAPTURE(degree);
      CAPTURE(ratio);
      const auto m = make_preconditioner<T>(
          "chebyshev", *a, {{"degree", std::to_string(degree)}, {"ratio", ratio == 30 ? "30" : "7.5"}});
      const Eigen::VectorXd expected = dense_chebyshev(spectrum, estimate(*a), degree, ratio) * r;
      const Eigen::VectorXd z = applied(*m, *a, r);
      // Rounding errors of a step pass through the polynomials of the later steps, none of which enlarges them. The
      // eigenvectors in the formula are wrong by as many roundings as there are rows.
      const double bound = 10 * degree * static_cast<double>(std::numeric_limits<T>::epsilon()) +
                           static_cast<double>(a->size()) * std::numeric_limits<double>::epsilon();
      CHECK((z - expected).norm() <= bound * expected.norm());
      CHECK(m->cost().products == degree - 1);
      CHECK_FALSE(m->is_fused());
    }
}

TEST_CASE_TEMPLATE("chebyshev is symmetric and positive definite, with every operator", T, double, float) {
  for (const mesh::CellShape shape : mesh::all_cell_shapes) {
    const bool flat = mesh::dimension(shape) == 2;
    const System<T> system(tests::make_form(shape, 2, flat ? std::array{9, 7, 1} : std::array{4, 3, 3}));
    const Eigen::Index n = system.small.form.unknowns;
    const Eigen::VectorXd x = waves(n, 0.3), y = waves(n, 0.9);
    for (const OperatorDescription& row : catalogue()) {
      if (!tests::runs_here(row)) continue;
      CAPTURE(row.name);
      CAPTURE(mesh::name(shape));
      const auto a = row.make<T>(system.from, {});
      for (const char* degree : {"1", "4", "7"}) {
        const auto m = make_preconditioner<T>("chebyshev", *a, {{"degree", degree}});
        const Eigen::VectorXd of_x = applied(*m, *a, x), of_y = applied(*m, *a, y);
        const double bound = 100 * std::numeric_limits<T>::epsilon() * x.norm() * of_y.norm();
        CHECK(std::abs(x.dot(of_y) - y.dot(of_x)) <= bound);
        CHECK(x.dot(of_x) > 0);
        CHECK(y.dot(of_y) > 0);
      }
    }
  }
}

TEST_CASE("columns that nobody has stay zeros behind chebyshev, with every operator, whatever the memory had") {
  const System<double> system = square<double>();
  for (const char* name : {"csr", "sell", "lma-atomic", "lma-gather", "matrix-free"}) {
    CAPTURE(std::string(name));
    const auto a = system.make(name);
    const auto m = make_preconditioner<double>("chebyshev", *a);
    const int count = 3;
    std::vector<MultiVector<double>> dirty;  // later vectors reuse this memory
    for (int i = 0; i < 6; ++i) {
      dirty.emplace_back(a->size(), count, a->device());
      fill(dirty.back().entries(), std::numeric_limits<double>::quiet_NaN());
    }
    MultiVector<double> r(a->size(), count, a->device()), z(a->size(), count, a->device());
    MultiVector<double> wider(a->size(), 4, a->device()), of_wider(a->size(), 4, a->device());
    clear(r.entries());
    fill(wider.entries(), 1.0);
    const auto check_zeros = [&] {
      m->apply(r, z);
      const Vector<double> found = copied(z.entries(), Device::host);
      CHECK(std::ranges::all_of(found.span(), [](double number) { return number == 0; }));
    };
    dirty.clear();
    check_zeros();
    m->apply(wider, of_wider);  // needs as much memory as three columns
    check_zeros();
  }
}

TEST_CASE_TEMPLATE("the largest eigenvalue is found from below, to 10 percent", T, double, float) {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      const bool flat = mesh::dimension(shape) == 2;
      const int cells = flat ? 24 / degree : 8 / degree;
      const System<T> system(tests::make_form(shape, degree, {cells, cells, flat ? 1 : cells}));
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const double exact = Spectrum(system.dense()).values.maxCoeff();
      for (const char* name : {"csr", "pjds"}) {  // pjds has its own ordering
        const double found = estimate(*system.make(name));
        CHECK(found >= 0.9 * exact);
        CHECK(found <= (1 + 100 * std::numeric_limits<T>::epsilon()) * exact);
      }
    }
}

TEST_CASE("the largest eigenvalue is the same to the bit, however many threads there are and however often") {
  const System<double> system = square<double>(3, {31, 29, 1});
  const auto a = system.make("csr");
  const double first = estimate(*a);
  for (const int threads : {1, 2, 3, 5}) {
    const tests::Threads so_many(threads);
    CHECK(estimate(*a) == first);
  }
}

TEST_CASE("CG with chebyshev makes the residuals of CG with the dense M^-1") {
  const System<double> system = square<double>();
  const Eigen::MatrixXd dense = system.dense();
  const auto csr = system.make("csr");
  const Eigen::MatrixXd inverse = dense_chebyshev(Spectrum(dense), estimate(*csr), 4, 30);
  const Eigen::VectorXd b = waves(dense.rows(), 0.2);
  constexpr int iterations = 8;
  std::vector<double> expected{1};
  Eigen::VectorXd r = b, z = inverse * r, p = z;
  for (int k = 0; k < iterations; ++k) {
    const Eigen::VectorXd q = dense * p;
    const double rz = r.dot(z), alpha = rz / p.dot(q);
    r -= alpha * q;
    z = inverse * r;
    p = z + r.dot(z) / rz * p;
    expected.push_back(r.norm() / b.norm());
  }
  for (const OperatorDescription& row : catalogue()) {
    if (!tests::runs_here(row)) continue;
    CAPTURE(row.name);
    const auto a = row.make<double>(system.from, {});
    const auto m = make_preconditioner<double>("chebyshev", *a);
    for (const int check_every : {1, 4, 3}) {  // x is updated in each, every second, two of three iterations
      solver::CgOptions<double> options;
      options.tolerance = 1e-30;
      options.max_iterations = iterations;
      options.check_every = check_every;
      std::vector<double> x;
      const solver::CgResult result = solve(*a, b, m.get(), options, x);
      CHECK(result.method == solver::CgMethod::classic);
      CHECK(result.loop == solver::CgLoop::launched);
      REQUIRE(result.history.size() == expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k)
        CHECK(std::abs(result.history[k].relative_residual - expected[k]) <= 1e-11);
      const Eigen::VectorXd left = b - dense * Eigen::Map<const Eigen::VectorXd>(x.data(), b.size());
      CHECK(left.norm() == doctest::Approx(expected.back() * b.norm()).epsilon(1e-8));
    }
  }
}

TEST_CASE_TEMPLATE("CG with chebyshev needs a fraction of the iterations with jacobi", T, double, float) {
  const System<T> system = square<T>(2, {40, 40, 1});
  const auto a = system.make(tests::device() == Device::host ? "matrix-free" : "csr");
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(a->size());
  constexpr double tolerance = sizeof(T) == 8 ? 1e-10 : 1e-3;
  solver::CgOptions<T> options;
  options.tolerance = tolerance;
  std::vector<double> x;
  const auto iterations = [&](const char* name, const Options& given) {
    const auto m = make_preconditioner<T>(name, *a, given);
    const solver::CgResult result = solve(*a, b, m.get(), options, x);
    if (sizeof(T) == 8) CHECK(result.reason == solver::StopReason::converged);
    // Uses the residual of the recurrence: in single precision the recomputed residual may not reach the tolerance.
    const auto there = std::ranges::find_if(
        result.history, [](const solver::Iteration& iteration) { return iteration.relative_residual <= tolerance; });
    REQUIRE(there != result.history.end());
    return static_cast<double>(there->number);
  };
  const double jacobi = iterations("jacobi", {});
  CHECK(iterations("chebyshev", {{"degree", "2"}}) <= 0.7 * jacobi);
  CHECK(iterations("chebyshev", {}) <= 0.4 * jacobi);
  CHECK(iterations("chebyshev", {{"degree", "8"}}) <= 0.3 * jacobi);
}

TEST_CASE("none and jacobi are applied by CG's passes, and by themselves they are the same") {
  const System<double> system = square<double>();
  const Eigen::MatrixXd dense = system.dense();
  const Eigen::VectorXd r = waves(dense.rows(), 0.7), divided = r.cwiseProduct(inverse_diagonal(dense));
  for (const char* name : {"csr", "pjds"}) {
    const auto a = system.make(name);
    const auto none = make_preconditioner<double>("none", *a), jacobi = make_preconditioner<double>("jacobi", *a);
    CHECK(none->is_fused());
    CHECK(none->inverse_diagonal() == nullptr);
    CHECK(applied(*none, *a, r) == r);
    CHECK(jacobi->is_fused());
    CHECK(jacobi->inverse_diagonal() != nullptr);
    CHECK((applied(*jacobi, *a, r) - divided).norm() <= 1e-15 * divided.norm());
    std::vector<double> without, with;
    const auto plain = solve<double>(*a, r, nullptr, {}, without), identity = solve(*a, r, none.get(), {}, with);
    CHECK(without == with);
    CHECK(plain.iterations == identity.iterations);
  }
}

TEST_CASE("the inverse of a diagonal is in single precision, about 1 where that would not hold it") {
  const auto of = [](const std::vector<double>& entries) {
    const auto diagonal = Eigen::Map<const Eigen::VectorXd>(entries.data(), std::ssize(entries));
    const auto a = tests::dense<double>(diagonal.asDiagonal());
    const InverseDiagonal inverse = copied(solver::inverse_diagonal_of(*a, "the test"), Device::host);
    return std::vector<float>(inverse.data(), inverse.data() + inverse.size());
  };
  CHECK(of({3, 0.1, 7e20}) == std::vector<float>{static_cast<float>(1.0 / 3), 10, static_cast<float>(1 / 7e20)});
  const double tiny = std::ldexp(1.0, -400), huge = std::ldexp(1.0, 900);
  CHECK(of({2 * tiny, tiny, tiny / 2}) == std::vector<float>{0.5F, 1, 2});
  CHECK(of({2 * huge, huge, huge / 2, huge / 8}) == std::vector<float>{0.25F, 0.5F, 1, 4});
  // Entries further apart than the range of single precision are clamped to its least or greatest number.
  constexpr float least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
  const float power = std::ldexp(1.0F, 125);  // 500 / 4
  CHECK(of({1, tiny, huge, 1}) == std::vector<float>{power, most, least, power});
  CHECK_THROWS_WITH_AS(of({1, 2, -3, -4}),
                       "the test needs a positive diagonal, but entry 2 is -3: the matrix is not positive definite",
                       solver::InputError);
  CHECK_THROWS_AS(of({1, std::nan("")}), solver::InputError);
}

TEST_CASE("what cannot be is one sentence") {
  const System<double> system = square<double>();
  const auto a = system.make("csr");
  CHECK_THROWS_WITH_AS(make_preconditioner<double>("ilu", *a), "no preconditioner is called 'ilu'",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(make_preconditioner<double>("chebyshev", *a, {{"degree", "0"}}),
                       "option 'degree' of preconditioner 'chebyshev' must be 1 to 16, not '0'", std::invalid_argument);
  CHECK_THROWS_WITH_AS(make_preconditioner<double>("chebyshev", *a, {{"order", "3"}}),
                       "preconditioner 'chebyshev' has no option 'order' (it has degree, ratio)",
                       std::invalid_argument);
  const auto m = make_preconditioner<double>("chebyshev", *a);
  Vector<double> r(a->size(), a->device()), small(3, a->device());
  CHECK_THROWS_AS(m->apply(r, small), std::invalid_argument);
  CHECK_THROWS_AS(m->apply(r, r), std::invalid_argument);
  solver::CgOptions<double> options;
  std::vector<double> x;
  options.method = solver::CgMethod::single_reduction;
  CHECK_THROWS_WITH_AS(solve(*a, Eigen::VectorXd::Ones(a->size()), m.get(), options, x),
                       "methods with one sum and the persistent kernel need a diagonal preconditioner: use "
                       "solver.cg: classic, or solver.preconditioner: jacobi",
                       solver::InputError);
  options = {};
  options.loop = solver::CgLoop::persistent;
  CHECK_THROWS_AS(solve(*a, Eigen::VectorXd::Ones(a->size()), m.get(), options, x), solver::InputError);
}

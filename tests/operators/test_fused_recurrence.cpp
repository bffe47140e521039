// Vector kernels of CG fused into the product, compared with separate kernels.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "operators/capabilities.hpp"
#include "operators/catalogue.hpp"
#include "operators/cellwise/cell_loops/fused_cg.hpp"
#include "operators/cellwise/cell_loops/patch_batches.hpp"
#include "operators/ordering.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/messages/error.hpp"
#include "tests/forms.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgLoop;
using solver::CgMethod;
using solver::CgOptions;
using solver::CgResult;
using tests::FormOptions;
using tests::make_form;
using tests::SmallForm;

namespace {

template <class T>
std::unique_ptr<Operator<T>> make(const SmallForm& small, const char* name = "matrix-free") {
  Ingredients<T> from;
  from.form = &small.form;
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  from.element_matrices = &matrices;
  from.matrix = std::make_shared<CsrMatrix<T>>(assemble<T>(small.form, matrices));
  return find_operator(name)->template make<T>(from, {});
}

template <class T>
Vector<T> numbers(std::int64_t n, double phase) {
  Vector<T> vector(n);
  for (std::int64_t i = 0; i < n; ++i) vector[i] = static_cast<T>(1.1 + std::sin(phase + static_cast<double>(i)));
  return vector;
}

template <class T>
double relative_difference(std::span<const T> a, std::span<const T> b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    size = std::max(size, std::abs(static_cast<double>(b[i])));
  }
  return difference / size;
}

/// Compares with vector kernels applied one by one.
template <class T>
void check_product(const Operator<T>& a, bool moves_x, bool diagonal) {
  const auto& fused = dynamic_cast<const WithFusedCg<T>&>(a);
  const std::int64_t n = a.size();
  Vector<T> x = numbers<T>(n, 1), r = numbers<T>(n, 2), p = numbers<T>(n, 3), v = numbers<T>(n, 4);
  InverseDiagonal inverse = numbers<float>(n, 5);
  Vector<T> expected_x(n), expected_r(n), expected_p(n), expected_v(n);
  FusedStep<T> step;
  step.step = T(0.375);
  step.keep = T(1);
  step.beta = T(0.625);
  if (moves_x) step.along = T(1.5), step.back = T(-0.25);
  if (diagonal) step.inverse_diagonal = inverse.data();
  step.x = x.data(), step.r = r.data(), step.p = p.data(), step.v = v.data();
  const auto solved = [&](std::int64_t i, T of) { return diagonal ? inverse[i] * of : of; };
  for (std::int64_t i = 0; i < n; ++i) {
    expected_x[i] = x[i] + step.along * p[i] + step.back * solved(i, r[i]);
    expected_r[i] = r[i] - step.step * v[i];
    expected_p[i] = solved(i, expected_r[i]) + step.beta * p[i];
  }
  a.apply(expected_p, expected_v);
  const FusedSums sums = fused.fused_product(step);
  const double rounding = 1e3 * static_cast<double>(std::numeric_limits<T>::epsilon());
  CHECK(relative_difference<T>(x.span(), expected_x.span()) <= rounding);
  CHECK(relative_difference<T>(r.span(), expected_r.span()) <= rounding);
  CHECK(relative_difference<T>(p.span(), expected_p.span()) <= rounding);
  CHECK(relative_difference<T>(v.span(), expected_v.span()) <= rounding);
  FusedSums expected;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto z = static_cast<double>(solved(i, r[i])), y = static_cast<double>(solved(i, v[i]));
    const auto of_p = static_cast<double>(p[i]), of_r = static_cast<double>(r[i]), of_v = static_cast<double>(v[i]);
    expected.pv += of_p * of_v;
    expected.rz += of_r * z;
    expected.rr += of_r * of_r;
    expected.zv += z * of_v;
    expected.rv += of_r * of_v;
    expected.vz += of_v * y;
    expected.vv += of_v * of_v;
  }
  const auto near = [&](double found, double wanted, double scale) {
    CHECK(std::abs(found - wanted) <= rounding * (std::abs(wanted) + scale));
  };
  const double v_size = std::sqrt(expected.vv), r_size = std::sqrt(expected.rr);
  near(sums.pv, expected.pv, 0);
  near(sums.rz, expected.rz, 0);
  near(sums.rr, expected.rr, 0);
  near(sums.zv, expected.zv, r_size * v_size);
  near(sums.rv, expected.rv, r_size * v_size);
  near(sums.vz, expected.vz, 0);
  near(sums.vv, expected.vv, 0);
}

template <class T>
CgOptions<T> options_for(CgLoop loop, std::int64_t iterations, const solver::Preconditioner<T>* preconditioner) {
  CgOptions<T> options;
  options.tolerance = 1e-30;
  options.max_iterations = iterations;
  options.preconditioner = preconditioner;
  options.loop = loop;
  return options;
}

template <class T>
void check_iterates(const Operator<T>& a, const char* name) {
  CAPTURE(name);
  const Vector<T> b = numbers<T>(a.size(), 6);
  const auto preconditioner = solver::make_preconditioner<T>(name, a);
  for (int iterations = 1; iterations <= 7; ++iterations) {
    CAPTURE(iterations);
    std::vector<double> x, expected;
    const CgResult apart =
        conjugate_gradients<T>(a, b, expected, options_for(CgLoop::launched, iterations, preconditioner.get()));
    const CgResult fused =
        conjugate_gradients<T>(a, b, x, options_for(CgLoop::fused, iterations, preconditioner.get()));
    CHECK(fused.loop == CgLoop::fused);
    CHECK(fused.delayed_update);
    REQUIRE(fused.iterations == apart.iterations);
    const double rounding = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    CHECK(relative_difference<double>(x, expected) <= rounding);
    for (std::size_t k = 0; k < fused.history.size(); ++k)
      CHECK(std::abs(fused.history[k].relative_residual - apart.history[k].relative_residual) <=
            rounding * apart.history[k].relative_residual + rounding);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("the passes and the sums are those that are written down", T, double, float) {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (const FormOptions& options : {FormOptions{}, FormOptions{.varying = false, .distort = 0}})
      for (const bool moves_x : {false, true})
        for (const bool diagonal : {false, true}) {
          CAPTURE(mesh::name(shape));
          const SmallForm small = make_form(shape, 2, {7, 6, 5}, options);
          check_product(*make<T>(small), moves_x, diagonal);
        }
}

TEST_CASE_TEMPLATE("iterates are those of passes of their own, after any number of iterations", T, double, float) {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const SmallForm small = make_form(shape, degree, {5, 4, 3});
      const auto a = make<T>(small);
      for (const char* name : {"none", "jacobi"}) check_iterates(*a, name);
    }
}

TEST_CASE("the solution, in the iterations of passes of their own, on any number of threads to the bit") {
  const SmallForm small = make_form(mesh::CellShape::hexahedron, 3, {9, 8, 7});
  const auto a = make<double>(small);
  const Vector<double> b = numbers<double>(a->size(), 1);
  const auto jacobi = solver::make_preconditioner<double>("jacobi", *a);
  CgOptions<double> options;
  options.tolerance = 1e-10;
  options.preconditioner = jacobi.get();
  options.loop = CgLoop::launched;
  std::vector<double> expected;
  const CgResult apart = conjugate_gradients<double>(*a, b, expected, options);
  options.loop = CgLoop::fused;
  std::vector<double> first;
  for (const int threads : {1, 2, 3}) {
    const tests::Threads so_many(threads);
    std::vector<double> x;
    const CgResult fused = conjugate_gradients<double>(*a, b, x, options);
    CHECK(fused.reason == solver::StopReason::converged);
    CHECK(fused.true_relative_residual <= 1e-10);
    CHECK(std::abs(fused.iterations - apart.iterations) <= 1);
    CHECK(relative_difference<double>(x, expected) <= 1e-8);
    if (first.empty()) first = x;
    CHECK(x == first);
  }
}

TEST_CASE("a residual that vanishes at once: sums that cancel are not trusted") {
  const SmallForm one = make_form(mesh::CellShape::quadrilateral, 1, {1, 1, 1}, {.distort = 0});
  const auto a = make<double>(one);
  for (const char* name : {"none", "jacobi"}) {
    const auto preconditioner = solver::make_preconditioner<double>(name, *a);
    CgOptions<double> options;
    options.tolerance = 1e-14;
    options.preconditioner = preconditioner.get();
    options.loop = CgLoop::fused;
    std::vector<double> x;
    const CgResult result = conjugate_gradients<double>(*a, numbers<double>(a->size(), 2), x, options);
    CHECK(result.reason == solver::StopReason::converged);
    CHECK(result.iterations <= a->size() + 1);
    CHECK(result.true_relative_residual <= 1e-14);
  }
}

TEST_CASE("a loop hands over to one with passes of their own, and takes over from it") {
  const SmallForm small = make_form(mesh::CellShape::triangle, 3, {8, 7, 1});
  const auto a = make<double>(small);
  const Vector<double> b = numbers<double>(a->size(), 3);
  const auto jacobi = solver::make_preconditioner<double>("jacobi", *a);
  std::vector<double> expected;
  conjugate_gradients<double>(*a, b, expected, options_for(CgLoop::launched, 12, jacobi.get()));
  for (const auto& [before, after] :
       {std::pair{CgLoop::fused, CgLoop::launched}, std::pair{CgLoop::launched, CgLoop::fused},
        std::pair{CgLoop::fused, CgLoop::fused}})
    for (const std::int64_t first : {4, 5}) {
      solver::CgCheckpoint<double> state;
      std::vector<double> x;
      auto options = options_for(before, first, jacobi.get());
      options.after = &state;
      conjugate_gradients<double>(*a, b, x, options);
      options = options_for(after, 12, jacobi.get());
      options.before = &state;
      const CgResult result = conjugate_gradients<double>(*a, b, x, options);
      CHECK(result.iterations == 12);
      CHECK(result.history.size() == 13);
      CHECK(relative_difference<double>(x, expected) <= 1e-11);
    }
}

TEST_CASE("reliable updates keep the direction") {
  const SmallForm small = make_form(mesh::CellShape::quadrilateral, 3, {12, 11, 1});
  const auto a = make<float>(small);
  const auto exact = make<double>(small);
  const Vector<float> b = numbers<float>(a->size(), 3);
  CgOptions<float> options;
  options.tolerance = 1e-11;
  options.reliable_update = 0.1;
  options.true_residual = [&](const std::vector<double>& x) {
    Vector<double> at(exact->size()), product(exact->size());
    std::copy(x.begin(), x.end(), at.data());
    exact->apply(to_ordering(*exact, at), product);
    const Vector<double> natural = from_ordering(*exact, product);
    std::vector<double> r;
    for (std::int64_t i = 0; i < b.size(); ++i) r.push_back(static_cast<double>(b[i]) - natural[i]);
    return r;
  };
  std::int64_t iterations[2];
  for (const CgLoop loop : {CgLoop::launched, CgLoop::fused}) {
    options.loop = loop;
    std::vector<double> x;
    const CgResult result = conjugate_gradients<float>(*a, b, x, options);
    CHECK(result.reason == solver::StopReason::converged);
    CHECK(result.true_relative_residual <= 1e-11);
    iterations[loop == CgLoop::fused] = result.iterations;
  }
  CHECK(iterations[1] <= iterations[0] + iterations[0] / 10);
}

TEST_CASE("passes inside the product are refused where there are none, and chosen where vectors leave the caches") {
  const SmallForm small = make_form(mesh::CellShape::quadrilateral, 2, {4, 3, 1});
  const auto a = make<double>(small);
  const Vector<double> b = numbers<double>(a->size(), 3);
  std::vector<double> x;
  const auto refuse = [&](const Operator<double>& with, CgMethod method, const char* preconditioner) {
    const auto m = solver::make_preconditioner<double>(preconditioner, with);
    auto options = options_for<double>(CgLoop::fused, 3, m.get());
    options.method = method;
    CHECK_THROWS_AS(conjugate_gradients<double>(with, b, x, options), solver::InputError);
  };
  refuse(*make<double>(small, "csr"), CgMethod::automatic, "jacobi");
  refuse(*a, CgMethod::single_reduction, "jacobi");
  refuse(*a, CgMethod::pipelined, "jacobi");
  refuse(*a, CgMethod::automatic, "chebyshev");
  CHECK(conjugate_gradients<double>(*a, b, x, options_for<double>(CgLoop::automatic, 3, nullptr)).loop ==
        CgLoop::launched);
  CHECK(!fusing_pays(200'000, 8));
  CHECK(fusing_pays(300'000, 8));
  CHECK(!fusing_pays(300'000, 4));
}

TEST_CASE_TEMPLATE("every cell has one lane, and its places are those of its unknowns", T, double, float) {
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (const auto& cells : {std::array{12, 11, 7}, std::array{1, 1, 1}}) {
      const SmallForm small = make_form(shape, 2, cells);
      const PatchBatches<T> batches(small.form);
      CHECK(batches.batches() >= PatchBatches<T>::batches_of(small.form));
      std::multiset<std::int32_t> met;
      // In the buffer of a patch, each place belongs to one unknown.
      std::vector<std::vector<std::int32_t>> unknown_of_place(static_cast<std::size_t>(batches.patches()));
      for (std::int32_t batch = 0; batch < batches.batches(); ++batch)
        for (int l = 0; l < PatchBatches<T>::lanes; ++l) {
          const std::int32_t cell = batches.cells(batch)[static_cast<std::size_t>(l)];
          if (cell >= 0) met.insert(cell);
          auto& unknowns = unknown_of_place[static_cast<std::size_t>(batches.patch_of(batch))];
          for (int a = 0; a < batches.dofs(); ++a) {
            const std::size_t place = batches.local_indices(batch)[a * PatchBatches<T>::lanes + l];
            const std::int32_t unknown = cell >= 0 ? small.form.unknown(cell, a) : -1;
            if (place >= unknowns.size()) unknowns.resize(place + 1, -2);
            if (unknowns[place] == -2) unknowns[place] = unknown;
            CHECK(unknowns[place] == unknown);
          }
        }
      CHECK(static_cast<std::int32_t>(met.size()) == small.form.cells());
      CHECK(std::set(met.begin(), met.end()).size() == met.size());
      std::vector<std::int32_t> order(batches.ordering().span().begin(), batches.ordering().span().end());
      std::sort(order.begin(), order.end());
      CHECK(static_cast<std::int32_t>(order.size()) == small.form.unknowns);
      CHECK(std::adjacent_find(order.begin(), order.end()) == order.end());
    }
}

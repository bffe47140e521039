// Sums with a fixed order do not depend on the number of threads: assembly, products and whole solutions are bitwise
// the same.

#include <doctest/doctest.h>
#include <omp.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;

namespace {

int threads_of_a_region() {
  int threads = 0;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  return threads;
}

/// Bits of a product, and of some iterations with each recurrence and preconditioner, assembly included, with the
/// present number of threads.
template <class T>
std::vector<std::uint64_t> bits_of(const OperatorDescription& row, const BilinearForm& form) {
  constexpr int iterations = 20;
  std::vector<std::uint64_t> bits;
  const auto keep = [&](double number) { bits.push_back(std::bit_cast<std::uint64_t>(number)); };
  const ElementMatrices matrices = assemble_element_matrices(form);
  const auto a = row.make<T>(tests::ingredients<T>(form, matrices), {});
  Vector<T> b(form.unknowns);
  for (std::int64_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(1 + std::sin(static_cast<double>(i)));
  const auto [y, energy] = tests::apply(*a, b);
  for (const T number : y.span()) keep(static_cast<double>(number));
  keep(energy);
  const Vector<T> load = copied(b, tests::device());
  for (const char* name : {"none", "jacobi", "chebyshev"})
    for (const solver::CgMethod method :
         {solver::CgMethod::classic, solver::CgMethod::single_reduction, solver::CgMethod::pipelined}) {
      const auto preconditioner = solver::make_preconditioner<T>(name, *a);
      if (solver::has_one_sum(method) && !preconditioner->is_fused()) continue;
      solver::CgOptions<T> options;
      options.tolerance = 1e-30;
      options.max_iterations = iterations;
      options.preconditioner = preconditioner.get();
      options.method = method;
      std::vector<double> x;
      for (const solver::Iteration& iteration : conjugate_gradients(*a, load, x, options).history)
        keep(iteration.relative_residual);
      for (const double number : x) keep(number);
    }
  return bits;
}

}  // namespace

TEST_CASE_TEMPLATE("no bit of products and iterations depends on the number of threads, where sums have one order", T,
                   double, float) {
  constexpr int most_threads = 7;
  struct Problem {
    mesh::CellShape shape;
    int degree;
    std::array<int, 3> cells;
  };
  for (const Problem& problem : {Problem{mesh::CellShape::quadrilateral, 2, {53, 47, 1}},
                                 Problem{mesh::CellShape::tetrahedron, 1, {17, 16, 15}}}) {
    CAPTURE(mesh::name(problem.shape));
    const tests::SmallForm small = tests::make_form(problem.shape, problem.degree, problem.cells);
    REQUIRE(small.form.unknowns > most_threads * rows_per_block);  // each thread has rows in every kernel
    for (const OperatorDescription& row : catalogue()) {
      if (!tests::runs_here(row) || !tests::has_fixed_order(row.name)) continue;
      CAPTURE(row.name);
      std::vector<std::uint64_t> first;
      for (const int threads : {1, 2, 3, most_threads}) {
        CAPTURE(threads);
        const tests::Threads so_many(threads);
        REQUIRE(threads_of_a_region() == threads);
        const std::vector<std::uint64_t> bits = bits_of<T>(row, small.form);
        if (threads == 1)
          first = bits;
        else
          CHECK((bits == first));
      }
    }
  }
}

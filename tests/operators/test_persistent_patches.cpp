// Persistent kernel of operators by patches of cells, compared with the same method in launched kernels.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "solver/messages/error.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
using solver::CgLoop;
using solver::CgMethod;
using solver::CgOptions;
using solver::CgResult;

namespace {

/// Runs seven iterations: few enough for little rounding, enough for every kernel to run at least twice.
template <class T>
CgResult some_iterations(const Operator<T>& a, const char* preconditioner, CgLoop loop, int check_every,
                         std::vector<double>& x) {
  Vector<T> b(a.size());
  for (std::int64_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(1 + std::sin(static_cast<double>(i)));
  const auto inverse = solver::make_preconditioner<T>(preconditioner, a);
  CgOptions<T> options;
  options.tolerance = 1e-30;
  options.max_iterations = 7;
  options.preconditioner = inverse.get();
  options.method = CgMethod::single_reduction;
  options.loop = loop;
  options.check_every = check_every;
  return conjugate_gradients(a, copied(b, a.device()), x, options);
}

template <class T>
void check_loop(const Operator<T>& a, const char* preconditioner) {
  CAPTURE(preconditioner);
  std::vector<double> expected, x, y;
  some_iterations(a, preconditioner, CgLoop::launched, 0, expected);
  const CgResult result = some_iterations(a, preconditioner, CgLoop::persistent, 0, x);
  CHECK(result.loop == CgLoop::persistent);
  CHECK(result.iterations == 7);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::abs(x[i] - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  CHECK(difference <= 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size);
  // Bitwise the same again, also with batches of another length.
  for (const int batch : {0, 3}) {
    some_iterations(a, preconditioner, CgLoop::persistent, batch, y);
    CHECK(x == y);
  }
}

template <class T>
void check_shape(mesh::CellShape shape, int degree, std::array<int, 3> cells) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const tests::SmallForm small = tests::make_form(shape, degree, cells, {.robin = false});
  Ingredients<T> from;
  from.device = tests::device();
  from.form = &small.form;
  for (const char* name : {"lma-gather", "matrix-free"}) {
    CAPTURE(name);
    const auto a = find_operator(name)->template make<T>(from, {});
    for (const char* preconditioner : {"none", "jacobi"}) check_loop(*a, preconditioner);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("patches in one persistent kernel make the iterations of launched passes" * tests::needs_gpu(), T,
                   double, float) {
  SUBCASE("one patch") { check_shape<T>(mesh::CellShape::quadrilateral, 1, {3, 2, 0}); }
  SUBCASE("quadrilaterals") { check_shape<T>(mesh::CellShape::quadrilateral, 2, {41, 37, 0}); }
  SUBCASE("quadrilaterals of degree 4") { check_shape<T>(mesh::CellShape::quadrilateral, 4, {17, 13, 0}); }
  SUBCASE("triangles") { check_shape<T>(mesh::CellShape::triangle, 3, {19, 17, 0}); }
  SUBCASE("hexahedra") { check_shape<T>(mesh::CellShape::hexahedron, 3, {5, 7, 6}); }
  SUBCASE("tetrahedra") { check_shape<T>(mesh::CellShape::tetrahedron, 1, {13, 11, 9}); }
}

TEST_CASE("it is refused where Robin rows reach into several patches, and for other ways to add up") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::quadrilateral, 2, {7, 5, 0});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  Ingredients<double> from;
  from.device = tests::device();
  from.form = &small.form;
  from.element_matrices = &matrices;
  std::vector<double> x;
  for (const char* name : {"matrix-free", "lma-atomic", "lma-coloured"}) {
    CAPTURE(name);
    const auto a = find_operator(name)->make<double>(from, {});
    CHECK_THROWS_AS(some_iterations(*a, "none", CgLoop::persistent, 0, x), solver::InputError);
  }
}

// BoomerAMG of hypre: symmetric, few iterations, with every operator; and the message of a build without hypre.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/hypre_amg.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;
using namespace femcg::solver;

namespace {

auto skipped_without_hypre() { return doctest::skip(!built_with_hypre()); }

template <class T>
std::unique_ptr<Operator<T>> on_host(const std::string& name, const BilinearForm& form) {
  const ElementMatrices matrices = assemble_element_matrices(form);
  Ingredients<T> from = tests::ingredients<T>(form, matrices);
  from.device = Device::host;
  return find_operator(name)->make<T>(from, {});
}

template <class T>
double product(const Vector<T>& a, const Vector<T>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("BoomerAMG is symmetric and positive, and CG takes few iterations with it" * skipped_without_hypre(),
                   T, double, float) {
  for (const CellShape shape : {CellShape::triangle, CellShape::hexahedron}) {
    const tests::SmallForm small =
        tests::make_form(shape, 2, shape == CellShape::triangle ? std::array{30, 30, 1} : std::array{9, 8, 7});
    for (const char* name : {"csr", "pjds", "matrix-free"}) {
      CAPTURE(name);
      const auto a = on_host<T>(name, small.form);
      const auto m = make_preconditioner<T>("boomeramg", *a, {}, {nullptr, &small.form});
      CHECK(m->levels().size() >= 2);
      CHECK(m->levels().front().unknowns == a->size());
      CHECK(m->cost().words > 0);
      const Vector<T> r = tests::random_vector<T>(a->size(), 1), s = tests::random_vector<T>(a->size(), 2);
      Vector<T> mr(a->size()), ms(a->size());
      m->apply(r, mr);
      m->apply(s, ms);
      const double energy = product(mr, r);
      CHECK(energy > 0);
      CHECK(std::abs(product(mr, s) - product(r, ms)) <= 100 * std::numeric_limits<T>::epsilon() * energy);

      CgOptions<T> cg;
      cg.tolerance = std::is_same_v<T, double> ? 1e-9 : 1e-5;
      cg.preconditioner = m.get();
      cg.max_iterations = 40;
      std::vector<double> x;
      const CgResult result = conjugate_gradients(*a, r, x, cg);
      CHECK(result.reason == StopReason::converged);
      CHECK(result.iterations >= 4);
      CHECK(result.iterations <= 30);
    }
  }
}

TEST_CASE("BoomerAMG of the matrix is that of its form, in the columns of a multi-vector too" *
          skipped_without_hypre()) {
  const tests::SmallForm small = tests::make_form(CellShape::quadrilateral, 2, {9, 7, 1});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const CsrMatrix<double> matrix = assemble<double>(small.form, matrices);
  const auto a = on_host<double>("csr", small.form);
  const auto of_form = make_preconditioner<double>("boomeramg", *a, {}, {nullptr, &small.form}),
             of_matrix = make_preconditioner<double>("boomeramg", *a, {}, {nullptr, nullptr, {}, &matrix});
  MultiVector<double> r(a->size(), 2, Device::host), z(a->size(), 2, Device::host);
  for (int c = 0; c < 2; ++c) set_column(tests::random_vector<double>(a->size(), 7 + c), {}, c, r);
  of_form->apply(r, z);
  for (int c = 0; c < 2; ++c) {
    Vector<double> alone(a->size()), column(a->size());
    of_matrix->apply(tests::random_vector<double>(a->size(), 7 + c), alone);
    get_column(z, c, {}, column);
    for (std::int64_t i = 0; i < a->size(); ++i) CHECK(column[i] == alone[i]);
  }
}

TEST_CASE("a preconditioner says where it is not") {
  const PreconditionerDescription& row = *find_preconditioner("boomeramg");
  CHECK(why_not(*find_preconditioner("multigrid"), Device::cuda, 4).empty());
  if (!built_with_hypre()) {
    CHECK(why_not(row, Device::host) ==
          "this femcg was built without hypre, which has boomeramg: use preconditioner multigrid");
    return;
  }
  CHECK(why_not(row, Device::host).empty());
  CHECK(why_not(row, Device::cuda) == "boomeramg works on the host: use device cpu, or preconditioner multigrid");
  CHECK(why_not(row, Device::host, 2) == "boomeramg works in one process: use preconditioner jacobi");
  const tests::SmallForm small = tests::make_form(CellShape::quadrilateral, 1, {4, 4, 1});
  const auto a = on_host<double>("csr", small.form);
  CHECK_THROWS_WITH(make_preconditioner<double>("boomeramg", *a),
                    "boomeramg needs the whole problem in one process: use preconditioner jacobi");
}

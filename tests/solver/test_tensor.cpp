// Inverse of separable problems on boxes: alone, within multigrid's smoother, and in CG.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "operators/backend/threads/parallel_rows.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/hierarchy.hpp"
#include "solver/preconditioners/tensor.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;
using namespace femcg::solver;

namespace {

/// Condition on a side of a box, in the order left right bottom top back front.
enum class Side { fixed, free, robin };

/// -div(1.5 grad u) on a box whose grid lines are equally spaced or graded.
tests::SmallForm make_box(CellShape shape, int degree, std::array<int, 3> cells, const std::vector<Side>& sides,
                          bool graded) {
  tests::SmallForm small = tests::make_form(shape, degree, cells, {.constrained = false, .robin = false, .distort = 0});
  if (graded) {
    mesh::Mesh listed = mesh::make_box({shape, cells, {1, 1, 1}});
    for (double& x : listed.coordinates) x += 0.4 * x * x;
    small.mesh->coordinates = listed.coordinates;
  }
  BilinearForm& form = small.form;
  form.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
    std::ranges::fill(values, 1.5);
  };
  form.diffusion.constant = [](std::int32_t) { return std::optional(1.5); };
  std::ranges::fill(form.unknown_of_dof, 0);
  FacetEvaluator evaluator(*small.space, form.quadrature);
  for (std::size_t side = 0; side < 2 * std::size_t(mesh::dimension(shape)); ++side)
    for (const mesh::BoundaryFacet& facet : small.mesh->boundaries[side].facets) {
      if (sides[side] == Side::fixed)
        for (const int a : small.space->facet_nodes(facet.facet))
          form.unknown_of_dof[small.space->dofs(facet.cell)[a]] = -1;
      evaluator.move_to(facet);
      if (sides[side] == Side::robin)
        form.robin.push_back({facet.cell, facet.facet,
                              std::vector<double>(std::size_t(evaluator.points()), 2.0 + static_cast<double>(side))});
    }
  std::ranges::stable_sort(form.robin, {}, &RobinFacet::cell);
  form.unknowns = 0;
  for (std::int32_t& unknown : form.unknown_of_dof)
    if (unknown >= 0) unknown = form.unknowns++;
  return small;
}

template <class T>
std::unique_ptr<Operator<T>> operator_of(const BilinearForm& form, const char* name) {
  const ElementMatrices matrices = assemble_element_matrices(form);
  return find_operator(name)->make<T>(tests::ingredients<T>(form, matrices), {});
}

template <class T>
Vector<T> applied(const auto& map, const Vector<T>& to) {
  Vector<T> y = tests::on_device(tests::poisoned<T>(to.size()));
  map.apply(tests::on_device(to), y);
  return copied(y, Device::host);
}

template <class T>
double norm(const Vector<T>& v) {
  return std::sqrt(dot_of_rows(v.data(), v.data(), 0, v.size()));
}

/// |r - A M^-1 r| / |r| for a random r; for a singular A, r has sum 0.
template <class T>
double residual_of_inverse(const BilinearForm& form, const char* name, bool is_singular) {
  const auto a = operator_of<T>(form, name);
  const auto m = make_preconditioner<T>("tensor", *a, {}, {nullptr, &form});
  CHECK(m->is_inverse());
  Vector<T> r = tests::random_vector<T>(a->size(), 7);
  double sum = 0;
  for (const T number : r.span()) sum += number;
  for (T& number : r.span())
    if (is_singular) number -= static_cast<T>(sum / static_cast<double>(r.size()));
  const Vector<T> back = applied(*a, applied(*m, r));
  Vector<T> left(r.size());
  for (std::int64_t i = 0; i < r.size(); ++i) left[i] = r[i] - back[i];
  return norm(left) / norm(r);
}

/// Solves by CG with the preconditioner tensor or multigrid.
CgResult solve(const BilinearForm& form, const char* preconditioner, double tolerance) {
  const auto a = operator_of<double>(form, "matrix-free");
  const auto m = make_preconditioner<double>(preconditioner, *a, {}, {nullptr, &form});
  CgOptions<double> cg;
  cg.tolerance = tolerance;
  cg.preconditioner = m.get();
  cg.max_iterations = 100;
  std::vector<double> x;
  return conjugate_gradients(*a, tests::on_device(tests::random_vector<double>(a->size(), 5)), x, cg);
}

const std::vector<std::vector<Side>> conditions{
    std::vector(6, Side::fixed),
    {Side::fixed, Side::free, Side::free, Side::free, Side::free, Side::fixed},
    {Side::free, Side::fixed, Side::fixed, Side::fixed, Side::free, Side::free},
    std::vector(6, Side::free),
    {Side::robin, Side::free, Side::fixed, Side::robin, Side::free, Side::robin},
};

}  // namespace

TEST_CASE("the eigenvectors of a line diagonalise its matrices, and waves are those of a dense solver") {
  for (int degree = 1; degree <= 4; ++degree)
    for (const int cells : {1, 2, 7})
      for (const bool left : {false, true})
        for (const bool right : {false, true}) {
          BoxLine line{.degree = degree,
                       .quadrature = degree + 1,
                       .widths = std::vector<double>(std::size_t(cells), 0.3),
                       .is_fixed = {left, right},
                       .diffusion = 2};
          if (line.unknowns() < 1) continue;
          CAPTURE(degree);
          CAPTURE(cells);
          CAPTURE(left);
          CAPTURE(right);
          REQUIRE(line.is_equal());
          const TensorAxis waves = eigenvectors_of(line);
          line.widths.front() *= 1 + 1e-9;  // nearly the same numbers, no longer equal spacing
          const TensorAxis dense = eigenvectors_of(line);
          const int n = line.unknowns();
          REQUIRE(waves.size == n);
          REQUIRE(std::ssize(waves.vectors) == n * n);
          std::vector<double> a = waves.stiffness, b = dense.stiffness;
          std::ranges::sort(a);
          std::ranges::sort(b);
          for (int i = 0; i < n; ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-7 * b.back());
          // Both satisfy S S' = M^-1 and S Lambda S' = M^-1 K M^-1.
          for (const bool of_stiffness : {false, true}) {
            const auto product = [&](const TensorAxis& axis) -> Eigen::MatrixXd {
              const Eigen::Map<const Eigen::MatrixXd> s(axis.vectors.data(), n, n);
              const Eigen::Map<const Eigen::VectorXd> lambda(axis.stiffness.data(), n);
              return of_stiffness ? Eigen::MatrixXd(s * lambda.asDiagonal() * s.transpose()) : s * s.transpose();
            };
            CHECK((product(waves) - product(dense)).norm() <= 1e-6 * product(dense).norm());
          }
        }
}

TEST_CASE("lines are short where their eigenvectors and products with them are cheap") {
  BoxLine line{.degree = 2, .quadrature = 3, .widths = std::vector<double>(300, 0.1)};
  CHECK(line.is_short(Device::host));
  line.widths.front() *= 2;  // unequal spacing: no waves
  CHECK_FALSE(line.is_short(Device::host));
  line.widths.assign(1000, 0.1);
  CHECK_FALSE(line.is_short(Device::host));
  CHECK(line.is_short(Device::cuda));
}

TEST_CASE("tensor is the inverse of a separable problem to rounding") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (int degree = 1; degree <= 4; ++degree)
      for (const bool graded : {false, true})
        for (const std::vector<Side>& sides : conditions) {
          CAPTURE(mesh::name(shape));
          CAPTURE(degree);
          CAPTURE(graded);
          CAPTURE(&sides - conditions.data());
          const tests::SmallForm small =
              make_box(shape, degree, {3, 2, mesh::dimension(shape) == 3 ? 4 : 1}, sides, graded);
          const bool is_singular = std::ranges::count(sides, Side::free) == 6;
          for (const char* name : {"csr", "matrix-free"}) {
            CHECK(residual_of_inverse<double>(small.form, name, is_singular) < 1e-12);
            CHECK(residual_of_inverse<float>(small.form, name, is_singular) < 1e-3);
          }
        }
}

TEST_CASE("CG with tensor ends with its first iteration") {
  for (const std::vector<Side>& sides : conditions) {
    if (std::ranges::count(sides, Side::free) == 6) continue;
    const CgResult result = solve(make_box(CellShape::hexahedron, 3, {6, 5, 7}, sides, false).form, "tensor", 1e-10);
    CHECK(result.reason == StopReason::converged);
    CHECK(result.iterations == 1);
    CHECK(result.true_relative_residual <= 1e-10);
  }
}

TEST_CASE("what is not separable has the nearest problem that is") {
  const auto chosen = [](const tests::SmallForm& small) {
    const auto a = operator_of<double>(small.form, "csr");
    const auto m = make_preconditioner<double>("tensor", *a, {}, {nullptr, &small.form});
    CHECK_FALSE(m->is_inverse());
    // M^-1 is symmetric and positive definite.
    const Vector<double> r = tests::random_vector<double>(a->size(), 1), s = tests::random_vector<double>(a->size(), 2);
    const Vector<double> mr = applied(*m, r), ms = applied(*m, s);
    const auto dot = [](const Vector<double>& x, const Vector<double>& y) {
      return dot_of_rows(x.data(), y.data(), 0, x.size());
    };
    CHECK(dot(mr, s) == doctest::Approx(dot(r, ms)).epsilon(1e-9));
    CHECK(dot(mr, r) > 0);
    const CgResult result = solve(small.form, "tensor", 1e-9);
    CHECK(result.reason == StopReason::converged);
    CHECK(result.iterations >= 2);
    CHECK(result.iterations <= 40);
    return m->chosen().at("separable");
  };
  const std::array<int, 3> cells{6, 5, 4};
  const CellShape shape = CellShape::hexahedron;
  CHECK(chosen(tests::make_form(shape, 2, cells, {.robin = false, .varying = false})) ==
        "no, as vertices are not on straight lines");
  CHECK(chosen(tests::make_form(shape, 2, cells, {.robin = false, .distort = 0})) == "no, as the diffusion varies");
  tests::SmallForm several = make_box(shape, 2, cells, conditions[4], false);
  several.form.robin[0].transfer[0] = 50;
  CHECK(chosen(several) == "no, as a side has several transfer coefficients");
  for (const double transfer : {1e-9, 1e15}) {
    tests::SmallForm extreme = make_box(shape, 2, cells, conditions[4], false);
    for (RobinFacet& facet : extreme.form.robin) std::ranges::fill(facet.transfer, transfer);
    CHECK(chosen(extreme) == "no, as a transfer coefficient is too small or great");
  }
  tests::SmallForm in_part = make_box(shape, 2, cells, conditions[1], false);
  in_part.form.unknown_of_dof[in_part.space->dof(0, 4)] = -1;
  in_part.form.unknowns = 0;
  for (std::int32_t& unknown : in_part.form.unknown_of_dof)
    if (unknown >= 0) unknown = in_part.form.unknowns++;
  CHECK(chosen(in_part) == "no, as a side is constrained in part");
}

TEST_CASE("the memory of tensor is foreseen") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
    const tests::SmallForm small = make_box(shape, 3, {20, 20, 20}, conditions[0], false);
    const auto a = operator_of<double>(small.form, "matrix-free");
    const auto m = make_preconditioner<double>("tensor", *a, {}, {nullptr, &small.form});
    const auto bytes = static_cast<double>(m->levels().front().bytes),
               foreseen = static_cast<double>(
                   find_preconditioner("tensor")->bytes_of_levels(&small.form, 0, tests::device(), "matrix-free", 1));
    CHECK(foreseen >= bytes);
    CHECK(foreseen <= 1.4 * bytes + (tests::device() == Device::cuda ? 32 << 20 : 0));
  }
}

TEST_CASE("tensor is for boxes in one process") {
  const tests::SmallForm small = tests::make_form(CellShape::triangle, 2, {4, 4, 1});
  const auto a = operator_of<double>(small.form, "csr");
  CHECK_THROWS_WITH(make_preconditioner<double>("tensor", *a, {}, {nullptr, &small.form}),
                    "preconditioner tensor is for boxes of quadrilaterals or hexahedra: use preconditioner multigrid");
  CHECK(why_not(*find_preconditioner("tensor"), Device::host, 2) ==
        "tensor works in one process: use preconditioner multigrid");
}

TEST_CASE("auto takes tensor where the problem is separable, and else what it took") {
  const auto decided = [](const tests::SmallForm& small, int processes) {
    return std::string(decide_preconditioner(50'000, 1, &small.form, Device::host, processes, "").name);
  };
  const tests::SmallForm separable = make_box(CellShape::hexahedron, 2, {4, 4, 4}, conditions[1], false);
  CHECK(decided(separable, 1) == "tensor");
  CHECK(decided(separable, 2) == "multigrid");
  CHECK(decided(tests::make_form(CellShape::hexahedron, 2, {4, 4, 4}), 1) == "multigrid");
  CHECK(decided(tests::make_form(CellShape::tetrahedron, 2, {4, 4, 4}), 1) == "multigrid");
}

TEST_CASE("multigrid solves lines of stretched boxes, and takes no more iterations for them") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron})
    for (int degree = 2; degree <= 4; ++degree)
      for (const double thin : {0.1, 0.01})
        for (const bool pencil : {false, true})
          for (const std::vector<Side>& sides : {conditions[0], conditions[1], conditions[4]}) {
            const int d = mesh::dimension(shape);
            CAPTURE(mesh::name(shape));
            CAPTURE(degree);
            CAPTURE(thin);
            CAPTURE(pencil);
            tests::SmallForm small = make_box(shape, degree, {7, 8, d == 3 ? 6 : 1}, sides, true);
            for (std::size_t i = 0; i < small.mesh->coordinates.size(); ++i)
              if (const int axis = static_cast<int>(i) % d; axis == d - 1 || (pencil && axis > 0))
                small.mesh->coordinates[i] *= thin;
            const CgResult result = solve(small.form, "multigrid", 1e-8);
            CHECK(result.reason == StopReason::converged);
            CHECK(result.iterations >= 3);
            CHECK(result.iterations <= 12);
          }
  tests::SmallForm plate = make_box(CellShape::hexahedron, 2, {5, 4, 4}, conditions[0], true);
  for (std::size_t i = 2; i < plate.mesh->coordinates.size(); i += 3) plate.mesh->coordinates[i] *= 0.05;
  const ElementMatrices matrices = assemble_element_matrices(plate.form);
  const auto a = find_operator("csr")->make<double>(tests::ingredients<double>(plate.form, matrices), {});
  tests::check_columns(*make_preconditioner<double>("multigrid", *a, {}, {nullptr, &plate.form}), 1e-5);
}

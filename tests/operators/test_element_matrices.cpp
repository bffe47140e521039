#include <doctest/doctest.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "mesh/affine_cells.hpp"
#include "operators/forms/check/reference.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/forms.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using femcg::tests::Threads;
using mesh::CellShape;

namespace {

Eigen::MatrixXd dense(std::span<const double> packed, int n) {
  Eigen::MatrixXd matrix(n, n);
  for (int i = 0, entry = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j, ++entry) matrix(i, j) = matrix(j, i) = packed[entry];
  return matrix;
}

/// K_e of the single cell of a unit box with kappa = 1.
Eigen::MatrixXd unit_cell(CellShape shape) {
  mesh::Mesh box = mesh::make_box({shape, {1, 1, 1}});
  const mesh::FunctionSpace space(box, 1);
  BilinearForm form;
  form.space = &space;
  form.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
    std::fill(values.begin(), values.end(), 1.0);
  };
  form.unknown_of_dof.assign(space.dof_count(), 0);
  const ElementMatrices matrices = assemble_element_matrices(form);
  return dense(matrices.cell(0), matrices.dofs);
}

std::vector<double> random_vector(std::int32_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(n);
  for (double& value : x) value = uniform(random);
  return x;
}

}  // namespace

TEST_CASE("the textbook's element matrices of the unit square, cube and triangle") {
  Eigen::Matrix4d square;
  square << 4, -1, -1, -2, -1, 4, -2, -1, -1, -2, 4, -1, -2, -1, -1, 4;
  CHECK((unit_cell(CellShape::quadrilateral) - square / 6).cwiseAbs().maxCoeff() < 1e-15);

  // The triangle (0,0), (1,0), (1,1): the right angle is at its second vertex.
  Eigen::Matrix3d triangle;
  triangle << 1, -1, 0, -1, 2, -1, 0, -1, 1;
  CHECK((unit_cell(CellShape::triangle) - triangle / 2).cwiseAbs().maxCoeff() < 1e-15);

  // Cube: 1/3 on the diagonal, 0 along edges, -1/12 across faces and across the cube.
  const Eigen::MatrixXd cube = unit_cell(CellShape::hexahedron);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int apart = __builtin_popcount(static_cast<unsigned>(i ^ j));
      CHECK(cube(i, j) == doctest::Approx(apart == 0 ? 1.0 / 3 : apart == 1 ? 0.0 : -1.0 / 12).epsilon(1e-13));
    }

  // Kuhn tetrahedron 0, (1,0,0), (1,1,0), (1,1,1): gradients -x, x - y, y - z, z of its barycentric coordinates, volume
  // 1/6.
  Eigen::Matrix4d tetrahedron;
  tetrahedron << 1, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 1;
  CHECK((unit_cell(CellShape::tetrahedron) - tetrahedron / 6).cwiseAbs().maxCoeff() < 1e-15);
}

TEST_CASE("a sum over cells adds in their order, by any number of threads, whatever the order of the dofs") {
  // More cells than are processed at a time.
  tests::SmallForm small = make_form(CellShape::hexahedron, 4, {33, 33, 33}, {.robin = false, .quadrature = 1});
  std::vector<std::int32_t> order(small.space->dof_count());
  std::iota(order.begin(), order.end(), 0);
  for (const bool shuffled : {false, true}) {
    if (shuffled) {
      std::shuffle(order.begin(), order.end(), std::mt19937(3));
      small.space->renumber(order);
    }
    const auto of_cell = [](std::int32_t cell, std::size_t a) {
      return 1.0 / (1.0 + cell % 977 + static_cast<double>(a));
    };
    std::vector<double> expected(small.space->dof_count(), 0.0);
    for (std::int32_t cell = 0; cell < small.form.cells(); ++cell)
      for (std::size_t a = 0; a < 125; ++a) expected[small.space->dofs(cell)[a]] += of_cell(cell, a);
    for (const int threads : {1, 3}) {
      const Threads so_many(threads);
      const mesh::Array<double> sum =
          sum_over_cells(small.form, [&](CellEvaluator&, std::int32_t cell, std::span<double> to) {
            for (std::size_t a = 0; a < to.size(); ++a) to[a] = of_cell(cell, a);
          });
      CHECK(std::ranges::equal(sum, expected));
    }
  }
}

TEST_CASE("K_e applied from the quadrature, its diagonal and its matrix agree, constants map to zero") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (const bool varying : {false, true})
        for (const bool curved : {false, true}) {
          CAPTURE(mesh::name(shape));
          CAPTURE(degree);
          const auto small = make_form(shape, degree, {2, 1, 1},
                                       {.varying = varying, .distort = varying ? 0.2 : 0.0, .curved = curved});
          CellEvaluator evaluator(small.form);
          const int n = evaluator.dofs();
          std::vector<double> packed(n * (n + 1) / 2), y(n), diagonal(n);
          for (std::int32_t cell = 0; cell < small.form.cells(); ++cell) {
            evaluator.move_to(cell);
            if (!is_tensor(shape) && !varying && !curved) CHECK(evaluator.constant());
            evaluator.matrix(packed);
            const Eigen::MatrixXd k = dense(packed, n);
            const double size = k.cwiseAbs().maxCoeff();
            const std::vector<double> x = random_vector(n, 1 + cell);
            evaluator.apply(x, y);
            evaluator.diagonal(diagonal);
            const Eigen::VectorXd product = k * Eigen::Map<const Eigen::VectorXd>(x.data(), n);
            CHECK((product - Eigen::Map<const Eigen::VectorXd>(y.data(), n)).cwiseAbs().maxCoeff() < 1e-12 * size * n);
            CHECK((k.diagonal() - Eigen::Map<const Eigen::VectorXd>(diagonal.data(), n)).cwiseAbs().maxCoeff() <
                  1e-12 * size);
            const bool robin = std::any_of(small.form.robin.begin(), small.form.robin.end(),
                                           [&](const RobinFacet& f) { return f.cell == cell; });
            if (!robin) CHECK((k * Eigen::VectorXd::Ones(n)).cwiseAbs().maxCoeff() < 1e-12 * size * n);
            if (robin) CHECK((k * Eigen::VectorXd::Ones(n)).sum() > 0.1);
          }
        }
}

TEST_CASE("the assembled matrix is the sum of element matrices as Eigen adds them") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const auto small = make_form(shape, degree, {3, 2, 2});
      const ElementMatrices matrices = assemble_element_matrices(small.form);
      std::vector<Eigen::Triplet<double>> triplets;
      for (std::int32_t cell = 0; cell < small.form.cells(); ++cell) {
        const Eigen::MatrixXd k = dense(matrices.cell(cell), matrices.dofs);
        for (int a = 0; a < matrices.dofs; ++a)
          for (int b = 0; b < matrices.dofs; ++b)
            if (small.form.unknown(cell, a) >= 0 && small.form.unknown(cell, b) >= 0)
              triplets.emplace_back(small.form.unknown(cell, a), small.form.unknown(cell, b), k(a, b));
      }
      Eigen::SparseMatrix<double, Eigen::RowMajor> expected(small.form.unknowns, small.form.unknowns);
      expected.setFromTriplets(triplets.begin(), triplets.end());
      const CsrMatrix<double> matrix = assemble<double>(small.form, matrices);
      REQUIRE(matrix.nonzeros() == expected.nonZeros());
      double worst = 0;
      for (std::int32_t i = 0; i < matrix.rows; ++i) {
        REQUIRE(matrix.row_offsets[i] == expected.outerIndexPtr()[i]);
        for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
          REQUIRE(matrix.columns[k] == expected.innerIndexPtr()[k]);
          worst = std::max(worst, std::abs(matrix.values[k] - expected.valuePtr()[k]));
        }
      }
      CHECK(worst < 1e-13);

      // The reference operator does not use element matrices.
      const std::vector<double> x = random_vector(small.form.unknowns, 7);
      const std::vector<double> y = ReferenceOperator(small.form).apply(x);
      const Eigen::VectorXd product = expected * Eigen::Map<const Eigen::VectorXd>(x.data(), small.form.unknowns);
      CHECK((product - Eigen::Map<const Eigen::VectorXd>(y.data(), small.form.unknowns)).cwiseAbs().maxCoeff() < 1e-11);
    }
}

TEST_CASE("of cells that fail the first is told, whatever the threads, and those after it are left alone") {
  const auto small = make_form(CellShape::quadrilateral, 1, {100, 100, 1});
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    const Threads so_many(threads);
    std::atomic<int> visited = 0;
    const auto visit = [&] {
      for_each_cell(small.form, [&](CellEvaluator&, std::int32_t cell) {
        ++visited;
        if (cell >= 100) throw std::runtime_error("cell " + std::to_string(cell));
      });
    };
    CHECK_THROWS_WITH_AS(visit(), "cell 100", std::runtime_error);
    CHECK(visited <= 100 + threads);
  }
}

TEST_CASE("what fails while an evaluator is made leaves the parallel region as an exception") {
  auto small = make_form(CellShape::quadrilateral, 1, {3, 3, 1});
  small.form.quadrature = 17;
  CHECK_THROWS_AS(for_each_cell(small.form, [](CellEvaluator&, std::int32_t) {}), std::invalid_argument);
}

TEST_CASE("facet measures add up to the side and normals point outward") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    const auto small = make_form(shape, 2, {3, 2, 2});
    FacetEvaluator evaluator(*small.space, 3);
    for (int side = 0; side < 2 * dimension(shape); ++side) {
      double total = 0;
      for (const mesh::BoundaryFacet& facet : small.mesh->boundaries[side].facets) {
        evaluator.move_to(facet);
        for (int q = 0; q < evaluator.points(); ++q) {
          total += evaluator.measures()[q];
          CHECK(evaluator.normals()[3 * q + side / 2] == doctest::Approx(side % 2 == 0 ? -1.0 : 1.0));
        }
      }
      const std::array<double, 3> size{1.0, 1.2, dimension(shape) == 3 ? 0.9 : 1.0};
      CHECK(total == doctest::Approx(size[0] * size[1] * size[2] / size[side / 2]));
    }
  }
}

TEST_CASE("affine cells: whatever the order of the mesh, by where all of their nodes are") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const bool tensor = mesh::is_tensor(shape);
    const auto count = [&](const FormOptions& options) {
      const SmallForm small = make_form(shape, 1, {5, 3, 2}, options);
      const mesh::AffineCells affine(*small.mesh);
      const std::int64_t found = affine.count();
      CHECK(affine.all() == (found == small.form.cells()));
      // An affine cell has one Jacobian.
      CellEvaluator evaluator(small.form);
      std::int64_t constant = 0;
      for (std::int32_t cell = 0; cell < small.form.cells(); ++cell) {
        evaluator.move_to(cell);
        constant += evaluator.constant();
        if (affine(cell)) CHECK(evaluator.constant());
      }
      CHECK(found == constant);
      return found;
    };
    const std::int64_t cells = make_form(shape, 1, {5, 3, 2}).form.cells();
    for (const bool quadratic : {false, true}) {
      CHECK(count({.varying = false, .distort = 0, .quadratic = quadratic}) == cells);
      CHECK(count({.varying = false, .distort = 0, .quadratic = quadratic, .sheared = true}) == cells);
      CHECK((count({.varying = false, .quadratic = quadratic}) == cells) == !tensor);
    }
    CHECK(count({.varying = false, .distort = 0, .curved = true}) == 0);
    const std::int64_t some = count({.varying = false, .distort = 0, .partly_curved = true});
    CHECK(some > cells / 3);
    CHECK(some < cells);
  }
  for (const auto& [options, boxes] : {std::pair{FormOptions{.distort = 0, .quadratic = true}, true},
                                       std::pair{FormOptions{.distort = 0, .turned = true}, true},
                                       std::pair{FormOptions{.distort = 0, .sheared = true}, false}}) {
    const SmallForm small = make_form(CellShape::hexahedron, 1, {3, 2, 2}, options);
    for (std::int32_t cell = 0; cell < small.form.cells(); ++cell)
      CHECK(mesh::AffineCells(*small.mesh).is_box(cell) == boxes);
  }
}

TEST_CASE("a matrix assembled at once has the bits of one whose entries were counted before") {
  for (const CellShape shape :
       {CellShape::triangle, CellShape::quadrilateral, CellShape::tetrahedron, CellShape::hexahedron})
    for (int degree = 1; degree <= 4; ++degree) {
      const tests::SmallForm small = tests::make_form(shape, degree, {14, 9, 3});
      const ElementMatrices matrices = assemble_element_matrices(small.form);
      const CsrMatrix<double> once = assemble<double>(small.form, matrices),
                              counted = assemble(MatrixRows<double>(small.form), matrices);
      CHECK(once.rows == counted.rows);
      CHECK(std::ranges::equal(once.row_offsets.span(), counted.row_offsets.span()));
      CHECK(std::ranges::equal(once.columns.span(), counted.columns.span()));
      CHECK(std::ranges::equal(once.values.span(), counted.values.span()));
    }
}

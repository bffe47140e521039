// Block inverses of multigrid's smoother around cells: their values, sums over overlapping blocks, and detection of
// cells with jumps of kappa.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/programs/point_program.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "solver/preconditioners/local_inverses.hpp"
#include "tests/dense_matrix.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/systems.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;
using namespace femcg::solver;

namespace {

std::vector<std::int32_t> unknowns_of(const BlockInverses& blocks, std::int32_t block) {
  return {blocks.unknowns.begin() + blocks.begin[block], blocks.unknowns.begin() + blocks.begin[block + 1]};
}

Eigen::MatrixXd inverse_of(const BlockInverses& blocks, std::int32_t block) {
  const std::int32_t size = blocks.begin[block + 1] - blocks.begin[block];
  return Eigen::Map<const Eigen::MatrixXf>(blocks.values.data() + blocks.values_begin[block], size, size)
      .cast<double>();
}

/// Indices of all cells of a form.
std::vector<std::int32_t> all_cells(const BilinearForm& form) {
  std::vector<std::int32_t> cells(static_cast<std::size_t>(form.cells()));
  std::iota(cells.begin(), cells.end(), 0);
  return cells;
}

}  // namespace

TEST_CASE("a block is the inverse of a diagonal block of A, and blocks of many cells cover their unknowns") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const bool many : {false, true}) {
      CAPTURE(mesh::name(shape));
      CAPTURE(many);
      const bool plane = mesh::dimension(shape) == 2;
      const int across = plane ? 13 : 4;
      const tests::SmallForm small = tests::make_form(shape, 4, {across, across, plane ? 1 : across});
      const Eigen::MatrixXd a = tests::dense_matrix(small.form);
      const std::vector<std::int32_t> cells =
          many ? all_cells(small.form) : std::vector<std::int32_t>{0, 3, small.form.cells() - 1};
      const BlockInverses blocks = inverses_round(small.form, cells);
      std::vector<int> times(static_cast<std::size_t>(small.form.unknowns), 0);
      for (std::int32_t block = 0; block < blocks.count(); ++block) {
        const std::vector<std::int32_t> of = unknowns_of(blocks, block);
        CHECK(std::ranges::is_sorted(of));
        for (const std::int32_t unknown : of) ++times[unknown];
        const Eigen::MatrixXd product = a(of, of) * inverse_of(blocks, block);
        CHECK((product - Eigen::MatrixXd::Identity(product.rows(), product.cols())).norm() < 1e-4);
      }
      for (const std::int32_t cell : cells)
        small.form.for_unknowns(cell, [&](std::int32_t unknown) { CHECK(times[unknown] > 0); });
      CHECK(*std::ranges::max_element(times) <= (!many ? 1 : mesh::vertex_count(shape)));
      if (many) CHECK(*std::ranges::max_element(times) == mesh::vertex_count(shape));
    }
}

TEST_CASE("no block has unknowns that are left out") {
  const tests::SmallForm small = tests::make_form(CellShape::tetrahedron, 2, {7, 7, 7});
  std::vector<char> left_out(static_cast<std::size_t>(small.form.unknowns), 0);
  for (std::size_t i = 0; i < left_out.size(); i += 3) left_out[i] = 1;
  const BlockInverses blocks = inverses_round(small.form, all_cells(small.form), left_out);
  CHECK(blocks.count() > 1);
  CHECK(std::ranges::none_of(blocks.unknowns, [&](std::int32_t unknown) { return left_out[unknown] != 0; }));
}

TEST_CASE_TEMPLATE("local solves add up overlapping blocks, to the same bits each time", T, double, float) {
  // Unknowns 1 and 4 are in two blocks.
  BlockInverses blocks;
  blocks.unknowns = {4, 0, 1, 1, 4, 6};
  blocks.begin = {0, 3, 5, 6};
  blocks.values_begin = {0, 9, 13, 14};
  for (int k = 0; k < 14; ++k) blocks.values.push_back(static_cast<float>(std::sin(3.0 * k)));
  Eigen::MatrixXd b = Eigen::MatrixXd::Zero(8, 8);
  for (std::int32_t block = 0; block < blocks.count(); ++block) {
    const std::vector<std::int32_t> of = unknowns_of(blocks, block);
    b(of, of) += inverse_of(blocks, block).transpose();
  }
  const auto local = make_local_solves<T>(blocks, tests::device());
  CHECK(local->count() == 3);
  const Vector<T> r = tests::random_vector<T>(8, 1), q = tests::random_vector<T>(8, 2);
  for (const bool with_q : {true, false}) {
    std::vector<Vector<T>> found;
    for (int time = 0; time < 2; ++time) {
      Vector<T> d = tests::on_device(tests::random_vector<T>(8, 2)),
                x = tests::on_device(tests::random_vector<T>(8, 1));
      const Vector<T> of_q = tests::on_device(tests::random_vector<T>(8, 2));
      local->add(T(0.5), tests::on_device(tests::random_vector<T>(8, 1)), with_q ? &of_q : nullptr, d, x);
      found.push_back(copied(d, Device::host));
      found.push_back(copied(x, Device::host));
    }
    for (int i = 0; i < 8; ++i) {
      double sum = 0;
      for (int j = 0; j < 8; ++j) sum += 0.5 * b(i, j) * static_cast<double>(with_q ? r[j] - q[j] : r[j]);
      CHECK(std::abs(static_cast<double>(found[0][i]) - (static_cast<double>(q[i]) + sum)) < 1e-6);
      CHECK(std::abs(static_cast<double>(found[1][i]) - (static_cast<double>(r[i]) + sum)) < 1e-6);
      CHECK(found[2][i] == found[0][i]);
      CHECK(found[3][i] == found[1][i]);
    }
  }
}

TEST_CASE("cells with jumps are those whose greatest diffusion is more than a multiple of the least") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const bool plane = mesh::dimension(shape) == 2;
    tests::SmallForm small = tests::make_form(shape, 2, {9, 7, plane ? 1 : 5});
    CHECK(cells_with_jumps(small.form, {30, 1e6}, tests::device()).empty());
    small.form.diffusion.evaluate = [](std::int32_t, std::span<const double> points, std::span<double> values) {
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = points[3 * k] < 0.53 ? 1 : 40;
    };
    std::vector<std::int32_t> expected;
    CellEvaluator evaluator(small.form);
    for (std::int32_t cell = 0; cell < small.form.cells(); ++cell) {
      evaluator.move_to(cell);
      const std::span<const double> points = evaluator.points_in_space();
      int left = 0;
      for (int k = 0; k < evaluator.points(); ++k) left += points[3 * static_cast<std::size_t>(k)] < 0.53 ? 1 : 0;
      if (left > 0 && left < evaluator.points()) expected.push_back(cell);
    }
    CHECK(expected.size() > 5);
    CHECK(cells_with_jumps(small.form, {30, 1e6}, tests::device()) == expected);
    CHECK(cells_with_jumps(small.form, {50, 1e6}, tests::device()).empty());
    CHECK(cells_with_jumps(small.form, {2, 39}, tests::device()).empty());
  }
}

// Code of a GPU's thread block for the quadrilaterals and hexahedra of a patch, run on the processor, available on
// every machine: tests/host_threads replaces operators/backend/launch.cuh. test_operators_cuda runs it on the GPU.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>

#include "mesh/element/lagrange_basis.hpp"
#include "mesh/element/quadrature.hpp"
#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/cellwise/matrix_free/cells/diagonal_cells.cuh"
#include "operators/cellwise/matrix_free/cells/hexahedron_cells.cuh"
#include "operators/forms/check/form_diagonal.hpp"
#include "operators/stored/assembled/csr_matrix.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;

namespace {

constexpr double kappa = 1.5;  // as in make_form

/// Tables of a kernel, computed from the bases.
template <class T, int n, CellGeometry kind>
cuda::TablesOf<T, n, kind> tables() {
  const mesh::Quadrature gauss = mesh::gauss_line(n);
  const Eigen::VectorXd points = gauss.points.row(0).transpose(), nodes = mesh::gauss_lobatto_points(n);
  const Eigen::MatrixXd values = mesh::line_values(nodes, points), slopes = mesh::line_derivatives(nodes, points);
  const auto weights = gauss.weights.asDiagonal();
  const bool boxes = kind == CellGeometry::boxes;
  const Eigen::MatrixXd first = boxes ? Eigen::MatrixXd(values.transpose() * weights * values) : values,
                        second = boxes ? Eigen::MatrixXd(slopes.transpose() * weights * slopes)
                                       : mesh::line_derivatives(points, points);
  cuda::TablesOf<T, n, kind> made;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if constexpr (kind == CellGeometry::boxes) {
        made.mass[i][j] = static_cast<T>(first(i, j));
        made.stiffness[i][j] = static_cast<T>(second(i, j));
      } else {
        made.interpolate[i][j] = static_cast<T>(first(i, j));
        made.differentiate[i][j] = static_cast<T>(second(i, j));
      }
  return made;
}

/// Input of the kernel for a cell: the diagonal or the upper triangle of D / w = kappa |J| J^-1 J^-T.
template <class T>
std::vector<T> affine_words(const mesh::Mesh& mesh, std::int32_t cell, bool diagonal) {
  const int d = mesh.dimension();
  const auto vertex = [&](int v) {
    const std::array<double, 3> point = mesh.point(mesh.nodes(cell)[static_cast<std::size_t>(v)]);
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(point.data(), d));
  };
  Eigen::MatrixXd jacobian(d, d);
  for (int axis = 0; axis < d; ++axis) jacobian.col(axis) = vertex(1 << axis) - vertex(0);
  const Eigen::MatrixXd factor = kappa * std::abs(jacobian.determinant()) * (jacobian.transpose() * jacobian).inverse();
  std::vector<T> words;
  for (int r = 0; r < d; ++r)
    for (int s = r; s < (diagonal ? r + 1 : d); ++s) words.push_back(static_cast<T>(factor(r, s)));
  return words;
}

/// D_q at n Gauss points per direction, in the layout of cuda_cell_factors.
template <class T, int d>
std::vector<T> factors_of_slots(const mesh::Mesh& mesh, const Vector<std::int32_t>& cell_of_slot, bool interleaved,
                                int n) {
  constexpr std::int64_t entries = d * (d + 1) / 2, group = CellPatches::group;
  const mesh::Quadrature gauss = mesh::gauss_line(n);
  const std::int64_t points = d == 2 ? n * n : n * n * n;
  std::vector<T> factors(static_cast<std::size_t>(cell_of_slot.size() * points * entries));
  for (std::int64_t slot = 0; slot < cell_of_slot.size(); ++slot) {
    if (cell_of_slot[slot] < 0) continue;
    const std::vector<T> words = affine_words<T>(mesh, cell_of_slot[slot], false);
    for (std::int64_t q = 0; q < points; ++q) {
      double weight = 1;
      for (std::int64_t rest = q, axis = 0; axis < d; ++axis, rest /= n) weight *= gauss.weights[rest % n];
      for (std::int64_t e = 0; e < entries; ++e) {
        const std::int64_t at = interleaved ? (slot / group * points * entries + q * entries + e) * group + slot % group
                                            : slot * points * entries + (e / 2 * points + q) * 2 + e % 2;
        factors[static_cast<std::size_t>(at)] =
            static_cast<T>(weight * static_cast<double>(words[static_cast<std::size_t>(e)]));
      }
    }
  }
  return factors;
}

/// Entries of K_e above its diagonal, negated, interleaved; zeros in empty slots.
template <class T>
std::vector<T> pairs_of_slots(const BilinearForm& form, const Vector<std::int32_t>& cell_of_slot) {
  constexpr std::int64_t group = CellPatches::group;
  const int dofs = form.dofs_per_cell(), pairs = pairs_of(dofs);
  const ElementMatrices matrices = assemble_element_matrices(form);
  std::vector<T> numbers(static_cast<std::size_t>(cell_of_slot.size() * pairs));
  for (std::int64_t slot = 0; slot < cell_of_slot.size(); ++slot)
    for (int a = 0, pair = 0; a < dofs; ++a)
      for (int b = a + 1; b < dofs; ++b, ++pair)
        if (cell_of_slot[slot] >= 0)
          numbers[static_cast<std::size_t>((slot / group * pairs + pair) * group + slot % group)] =
              static_cast<T>(-matrices.cell(cell_of_slot[slot])[static_cast<std::size_t>(b * (b + 1) / 2 + a)]);
  return numbers;
}

/// Input of the kernel for the cells of all slots, in the layout of the patches; zeros in empty slots.
template <class T, int d, CellGeometry kind>
std::vector<T> words_of_slots(const BilinearForm& form, const Vector<std::int32_t>& cell_of_slot, bool interleaved,
                              [[maybe_unused]] int n) {
  const std::int64_t slots = cell_of_slot.size();
  const mesh::Mesh& mesh = form.space->mesh();
  if constexpr (kind == CellGeometry::pairs) {
    return pairs_of_slots<T>(form, cell_of_slot);
  } else if constexpr (kind == CellGeometry::vertices) {
    std::vector<T> words(static_cast<std::size_t>(slots * straight_words<d>));
    const cuda::NodesOfCells vertices{
        mesh.nodes_per_cell(), mesh.coordinates.empty() ? nullptr : mesh.coordinates.data(),
        mesh.cell_nodes.empty() ? nullptr : mesh.cell_nodes.data(), mesh.box.value_or(mesh::BoxNodes{})};
    cuda::straight_cells_kernel<T, d>(cell_of_slot.data(), slots, interleaved, vertices, &kappa, 0, words.data());
    return words;
  } else if constexpr (kind == CellGeometry::stored) {
    return factors_of_slots<T, d>(mesh, cell_of_slot, interleaved, n);
  } else {
    constexpr std::int64_t count = kind == CellGeometry::boxes ? d : d * (d + 1) / 2, group = CellPatches::group;
    std::vector<T> words(static_cast<std::size_t>(slots * count));
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      if (cell_of_slot[slot] < 0) continue;
      const std::vector<T> of_cell = affine_words<T>(mesh, cell_of_slot[slot], kind == CellGeometry::boxes);
      for (std::int64_t k = 0; k < count; ++k)
        words[static_cast<std::size_t>(interleaved ? (slot / group * count + k) * group + slot % group
                                                   : slot * count + k)] = of_cell[static_cast<std::size_t>(k)];
    }
    return words;
  }
}

/// y = A x, patch by patch.
template <class T, class Cells>
std::vector<T> product(const Cells& cells, const CellPatches& patches, const std::vector<T>& x) {
  const cuda::Patches all{patches.patches.data(),      patches.shared.data(),    patches.local_indices.data(),
                          patches.colours.data(),      patches.interface.data(), patches.interface_offsets.data(),
                          patches.contributions.data()};
  std::vector<T> y(x.size(), T(0));
  for (const CellPatch& patch : patches.patches.span()) {
    const auto unknown = [&](int place) {
      return static_cast<std::size_t>(patches.unknown_at[patches.unknown_of(patch, place)]);
    };
    std::vector<T> x_near(patch.unknown_count + std::size_t{1}, T(0)), y_near(x_near.size(), T(0)),
        scratch(Cells::scratch_size, std::numeric_limits<T>::quiet_NaN());
    for (int place = 0; place < patch.unknown_count; ++place)
      x_near[static_cast<std::size_t>(place)] = x[unknown(place)];
    cuda::run_block(Cells::threads, [&] {
      cuda::with_ahead(cells, all, patch, [&](const auto&... ahead) {
        cells(all, patch, x_near.data(), y_near.data(), scratch.data(), ahead...);
      });
    });
    CHECK(y_near.back() == 0);
    for (int place = 0; place < patch.unknown_count; ++place)
      y[unknown(place)] += y_near[static_cast<std::size_t>(place)];
  }
  return y;
}

template <int d, int n, CellGeometry kind>
tests::SmallForm form_of(std::array<int, 3> count) {
  return tests::make_form(d == 2 ? CellShape::quadrilateral : CellShape::hexahedron, n - 1, count,
                          {.robin = false,
                           .varying = kind == CellGeometry::pairs,
                           .distort = kind == CellGeometry::vertices || kind == CellGeometry::pairs ? 0.2 : 0,
                           .sheared = kind == CellGeometry::affine || kind == CellGeometry::stored,
                           .turned = kind == CellGeometry::boxes});
}

/// Checks the diagonal, patch by patch, for boxes of a few cells: threads synchronise after every cell.
template <class T, int d, int n, CellGeometry kind>
void check_diagonal() {
  CAPTURE(d);
  CAPTURE(n);
  CAPTURE(static_cast<int>(kind));
  const bool interleaved = d == 2 || thread_per_hexahedron(n);
  const tests::SmallForm small = form_of<d, n, kind>(d == 2 ? std::array{4, 3, 1} : std::array{3, 2, 1});
  const CellPatches patches = make_cell_patches(
      small.form, {.cells = 5, .layout = interleaved ? CellLayout::interleaved : CellLayout::cell_major});
  const std::vector<T> words = words_of_slots<T, d, kind>(small.form, patches.cell_of_slot, interleaved, n);
  const DiagonalTables tables = diagonal_tables(small.form, kind);
  const std::vector<T> squares(tables.squares.begin(), tables.squares.end()),
      positions(tables.positions.begin(), tables.positions.end());
  const cuda::DiagonalCells<T, d> cells{kind,         interleaved, patches.dofs,   tables.points,
                                        words.data(), nullptr,     squares.data(), positions.data()};
  const std::vector<T> found = product(cells, patches, std::vector<T>(static_cast<std::size_t>(small.form.unknowns)));
  const Vector<double> expected = diagonal_of_form(small.form);
  double worst = 0, largest = 0;
  for (std::int32_t i = 0; i < small.form.unknowns; ++i) {
    const double difference = std::abs(static_cast<double>(found[static_cast<std::size_t>(i)]) - expected[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    largest = std::max(largest, expected[i]);
  }
  CHECK(worst <= 100 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest);
}

template <class T, int d, int n, CellGeometry kind>
void check_cells(std::array<int, 3> count, int cells_per_patch) {
  CAPTURE(d);
  CAPTURE(n);
  CAPTURE(static_cast<int>(kind));
  using Cells = cuda::TensorCells<T, d, n, kind>;
  const bool interleaved = d == 2 || thread_per_hexahedron(n);
  const tests::SmallForm small = form_of<d, n, kind>(count);
  const CellPatches patches = make_cell_patches(
      small.form, {.cells = cells_per_patch, .layout = interleaved ? CellLayout::interleaved : CellLayout::cell_major});
  Cells cells;
  cells.tables = tables<T, n, kind>();
  if constexpr (kind == CellGeometry::affine || kind == CellGeometry::vertices) {
    const mesh::Quadrature gauss = mesh::gauss_line(n);
    for (int q = 0; q < n; ++q) cells.geometry.weights[q] = static_cast<T>(gauss.weights[q]);
    if constexpr (kind == CellGeometry::vertices)
      for (int q = 0; q < n; ++q) cells.geometry.points[q] = static_cast<T>(gauss.points(0, q));
  }

  const CsrMatrix<double> matrix = assemble<double>(small.form, assemble_element_matrices(small.form));
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> x(static_cast<std::size_t>(matrix.rows));
  for (T& value : x) value = static_cast<T>(uniform(random));
  const auto check = [&](const std::vector<T>& y) {
    double worst = 0, largest = 0;
    for (std::int32_t i = 0; i < matrix.rows; ++i) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        const double term = matrix.values[k] * static_cast<double>(x[static_cast<std::size_t>(matrix.columns[k])]);
        sum += term;
        magnitude += std::abs(term);
      }
      const double difference = std::abs(static_cast<double>(y[static_cast<std::size_t>(i)]) - sum);
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
      largest = std::max(largest, magnitude);
    }
    CHECK(worst <= 300 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest);
  };

  const std::vector<T> words = words_of_slots<T, d, kind>(small.form, patches.cell_of_slot, interleaved, n);
  cells.geometry.data = words.data();
  if constexpr (may_share(kind)) cells.geometry.classes = nullptr;
  check(product(cells, patches, x));
  // Congruent cells, whose data are stored once.
  if constexpr (kind == CellGeometry::boxes || kind == CellGeometry::affine) {
    Vector<std::int32_t> representative(CellPatches::group);
    fill(representative, -1);
    representative[0] = 0;
    const std::vector<T> once = words_of_slots<T, d, kind>(small.form, representative, interleaved, n);
    const std::vector<std::uint16_t> classes(static_cast<std::size_t>(patches.slots()), 0);
    cells.geometry.data = once.data();
    cells.geometry.classes = classes.data();
    check(product(cells, patches, x));
  }
}

/// Patches of several waves of cells, the last one incomplete, and patches of less than one wave.
template <class T, CellGeometry kind>
void check_degrees() {
  for (const int patch : {64, 256}) {
    CAPTURE(patch);
    check_cells<T, 2, 2, kind>({17, 13, 1}, patch);
    check_cells<T, 2, 3, kind>({17, 13, 1}, patch);
    check_cells<T, 2, 4, kind>({17, 13, 1}, patch);
    check_cells<T, 2, 5, kind>({17, 13, 1}, std::min(patch, cells_per_wave));
    check_cells<T, 3, 2, kind>({6, 6, 5}, patch);
    check_cells<T, 3, 3, kind>({6, 6, 5}, patch);
  }
  check_cells<T, 2, 2, kind>({23, 19, 1}, 384);  // a thread processes two of these cells at a time
  for (const int patch : {3, 13, 36}) {
    CAPTURE(patch);
    check_cells<T, 3, 4, kind>({4, 3, 3}, patch);
    check_cells<T, 3, 5, kind>({3, 2, 2}, patch);
  }
}

template <CellGeometry kind>
void check_diagonals() {
  check_diagonal<double, 2, 2, kind>();
  check_diagonal<float, 2, 4, kind>();
  check_diagonal<double, 2, 5, kind>();
  check_diagonal<double, 3, 2, kind>();
  check_diagonal<double, 3, 3, kind>();
  check_diagonal<float, 3, 4, kind>();
  check_diagonal<double, 3, 5, kind>();
}

}  // namespace

TEST_CASE_TEMPLATE("boxes, along no axis", T, double, float) { check_degrees<T, CellGeometry::boxes>(); }
TEST_CASE_TEMPLATE("affine cells", T, double, float) { check_degrees<T, CellGeometry::affine>(); }
TEST_CASE_TEMPLATE("cells with the factors of all points", T, double, float) {
  check_degrees<T, CellGeometry::stored>();
}
TEST_CASE_TEMPLATE("straight cells, from their vertices", T, double, float) {
  check_degrees<T, CellGeometry::vertices>();
}

TEST_CASE_TEMPLATE("cells of degree 1, from the entries of their matrices", T, double, float) {
  for (const int patch : {64, 256}) {
    CAPTURE(patch);
    check_cells<T, 2, 2, CellGeometry::pairs>({17, 13, 1}, patch);
    check_cells<T, 3, 2, CellGeometry::pairs>({6, 6, 5}, patch);
  }
}

TEST_CASE("the diagonal from the numbers of products") {
  check_diagonal<double, 2, 2, CellGeometry::pairs>();
  check_diagonal<float, 3, 2, CellGeometry::pairs>();
  check_diagonals<CellGeometry::boxes>();
  check_diagonals<CellGeometry::affine>();
  check_diagonals<CellGeometry::stored>();
  check_diagonals<CellGeometry::vertices>();
}

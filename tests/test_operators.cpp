// Every operator of the catalogue, on the host or on a GPU, against the assembled matrix, multiplied in long double.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "operators/catalogue.hpp"
#include "operators/cell_loops/cell_blocks.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using femcg::tests::FormOptions;
using femcg::tests::ingredients;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using mesh::CellShape;

namespace {

template <class T>
Vector<T> random_vector(std::int32_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Vector<T> x(n);
  for (std::int32_t i = 0; i < n; ++i) x[i] = static_cast<T>(uniform(random));
  return x;
}

/// y = A x, sum_j |a_ij| |x_j| and x'Ax in long double.
struct Expected {
  std::vector<long double> product, magnitude;
  long double energy = 0, energy_magnitude = 0;
};

template <class T>
Expected expected_product(const CsrMatrix<double>& matrix, const Vector<T>& x) {
  Expected expected;
  for (std::int32_t i = 0; i < matrix.rows; ++i) {
    long double sum = 0, magnitude = 0;
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      const long double term = static_cast<long double>(matrix.values[k]) * x[matrix.columns[k]];
      sum += term;
      magnitude += std::abs(term);
    }
    expected.product.push_back(sum);
    expected.magnitude.push_back(magnitude);
    expected.energy += sum * x[i];
    expected.energy_magnitude += magnitude * std::abs(static_cast<long double>(x[i]));
  }
  return expected;
}

/// Products in the working precision with sums of up to some hundred terms, matrix-free through several stages.
template <class T>
constexpr long double rounding = 300 * std::numeric_limits<T>::epsilon();

/// A form with its matrix.
struct Problem {
  explicit Problem(SmallForm form)
      : small(std::move(form)),
        element_matrices(assemble_element_matrices(small.form)),
        matrix(assemble<double>(small.form, element_matrices)) {}
  SmallForm small;
  ElementMatrices element_matrices;
  CsrMatrix<double> matrix;
};

/// What operators are made from in one precision, two vectors, and the product of the first.
template <class T>
struct Reference {
  explicit Reference(const Problem& of)
      : problem(of),
        from(ingredients<T>(of.small.form, of.element_matrices)),
        x(random_vector<T>(of.matrix.rows, 11)),
        z(random_vector<T>(of.matrix.rows, 12)),
        expected(expected_product(of.matrix, x)) {}
  const Problem& problem;
  Ingredients<T> from;
  Vector<T> x, z;
  Expected expected;
};

template <class T>
void check_operator(const OperatorDescription& row, const Reference<T>& reference, const Options& given = {}) {
  CAPTURE(row.name);
  const BilinearForm& form = reference.problem.small.form;
  const CsrMatrix<double>& matrix = reference.problem.matrix;
  const auto a = row.make<T>(reference.from, given);
  REQUIRE(a->size() == form.unknowns);
  const Vector<T>&x = reference.x, &z = reference.z;
  const Expected& expected = reference.expected;
  const long double largest = *std::max_element(expected.magnitude.begin(), expected.magnitude.end());
  const auto equal = [](const Vector<T>& left, const Vector<T>& right) {
    return std::equal(left.span().begin(), left.span().end(), right.span().begin());
  };
  Vector<T> y;
  for (const int threads : tests::device() == Device::host ? std::vector{1, 2, 3} : std::vector{1, 2}) {
    CAPTURE(threads);
    const tests::Threads so_many(threads);
    auto [now, energy] = tests::apply(*a, x);
    long double worst = 0;
    bool finite = true;
    for (std::int32_t i = 0; i < form.unknowns; ++i) {
      finite = finite && std::isfinite(now[i]);
      worst = std::max(worst, std::abs(now[i] - expected.product[i]));
    }
    CHECK(finite);
    CHECK(worst <= rounding<T> * largest);
    CHECK(std::abs(energy - expected.energy) <= rounding<T> * expected.energy_magnitude);
    // Atomic sums have no order, and cuSPARSE promises none.
    if (row.name != "lma-atomic" && !row.name.starts_with("cusparse")) {
      if (threads > 1) CHECK(equal(y, now));
      CHECK(equal(now, tests::apply_without_energy(*a, x)));
    }
    y = std::move(now);
  }

  // z'Ax = x'Az
  const Vector<T> w = tests::apply_without_energy(*a, z);
  long double left = 0, right = 0;
  for (std::int32_t i = 0; i < form.unknowns; ++i) {
    left += static_cast<long double>(z[i]) * y[i];
    right += static_cast<long double>(x[i]) * w[i];
  }
  CHECK(std::abs(left - right) <= 2 * rounding<T> * expected.energy_magnitude * 4);

  const Vector<T> d = tests::diagonal(*a);
  std::int64_t right_entries = 0;
  for (std::int32_t i = 0; i < form.unknowns; ++i)
    for (std::int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k)
      right_entries +=
          matrix.columns[k] == i && std::abs(d[i] - matrix.values[k]) <= rounding<T> * matrix.values[k] ? 1 : 0;
  CHECK(right_entries == form.unknowns);

  const Footprint footprint = a->footprint();
  CHECK(footprint.stored_bytes > 0);
  CHECK(footprint.moved_bytes >= 2 * static_cast<std::int64_t>(sizeof(T)) * form.unknowns);
  CHECK(footprint.flops > 0);
}

enum class Which { all, of_cells };

/// All operators, or those that work on cells: to the others a matrix is a matrix.
void check_all(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options,
               Which which = Which::all) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const Problem problem(make_form(shape, degree, cells, options));
  const Reference<double> in_double(problem);
  const Reference<float> in_single(problem);
  for (const OperatorDescription& row : catalogue()) {
    if (!tests::runs_here(row) || (which == Which::of_cells && row.needs == Needs::matrix)) continue;
    check_operator(row, in_double);
    check_operator(row, in_single);
  }
}

/// Operators over patches alone, on a GPU, where patches of many waves of cells, and of few, are to be had.
void check_patches(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options) {
  if (tests::device() == Device::host) return;
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const Problem problem(make_form(shape, degree, cells, options));
  const Reference<double> in_double(problem);
  const Reference<float> in_single(problem);
  const std::string several = "320";
  for (const std::string_view name : {"matrix-free", "lma-gather", "lma-coloured"})
    for (const std::string& patch : {std::string("32"), several}) {
      CAPTURE(patch);
      const bool refused = shape == CellShape::quadrilateral && degree == 4 && patch == several;
      if (name == "matrix-free" && refused) continue;
      check_operator(*find_operator(name), in_double, {{"patch", patch}});
      check_operator(*find_operator(name), in_single, {{"patch", patch}});
    }
}

/// Hexahedra for two patches of the most unknowns at least, and no more: sanitizers take minutes for them.
void check_patches_of_tensor_cells(const FormOptions& options) {
  constexpr std::array<std::array<int, 3>, 4> hexahedra{{{8, 7, 7}, {8, 7, 7}, {6, 6, 5}, {5, 4, 4}}};
  for (int degree = 1; degree <= 4; ++degree) {
    check_patches(CellShape::quadrilateral, degree, {23, 19, 1}, options);
    check_patches(CellShape::hexahedron, degree, hexahedra[static_cast<std::size_t>(degree - 1)], options);
  }
}

/// matrix-free alone.
void check_matrix_free(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options,
                       const Options& given = {}) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  CAPTURE(options.quadrature);
  const Problem problem(make_form(shape, degree, cells, options));
  check_operator(*find_operator("matrix-free"), Reference<double>(problem), given);
  check_operator(*find_operator("matrix-free"), Reference<float>(problem), given);
}

}  // namespace

TEST_CASE("every operator is the assembled matrix: shapes, degrees, precisions, thread counts") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      check_all(shape, degree, {5, 3, 2}, {}, degree <= 2 ? Which::all : Which::of_cells);
}

TEST_CASE("and on affine, straight and curved cells, with constant diffusion, and with more quadrature points") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    for (int degree = 1; degree <= 4; ++degree) {
      check_all(shape, degree, {4, 3, 2}, {.varying = false, .distort = 0}, Which::of_cells);
      check_all(shape, degree, {4, 3, 2}, {.varying = false, .distort = 0, .sheared = true}, Which::of_cells);
      check_all(shape, degree, {3, 3, 2}, {.varying = false}, Which::of_cells);
      check_all(shape, degree, {2, 3, 2}, {.curved = true}, Which::of_cells);
    }
    check_all(shape, 3, {3, 2, 2}, {.quadrature = 6}, Which::of_cells);
  }
  if (tests::device() == Device::cuda)
    check_matrix_free(CellShape::hexahedron, 1, {7, 5, 5}, {.varying = false}, {{"geometry", "vertices"}});
}

TEST_CASE("the numbers of identical cells are stored once on a GPU, as all others are") {
  if (tests::device() == Device::host) return;
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      const FormOptions alike{.varying = false, .distort = 0};
      check_matrix_free(shape, degree, {4, 3, 2}, alike, {{"dedup", "on"}});
      check_matrix_free(shape, degree, {4, 3, 2}, alike, {{"dedup", "off"}});
      check_matrix_free(shape, degree, {3, 3, 2}, {.varying = false}, {{"dedup", "on"}});
    }
  const auto stored = [](const FormOptions& options, const char* dedup) {
    const Problem problem(make_form(CellShape::quadrilateral, 2, {31, 29, 1}, options));
    const auto a = find_operator("matrix-free")->make<double>(Reference<double>(problem).from, {{"dedup", dedup}});
    return a->footprint().stored_bytes;
  };
  const FormOptions alike{.robin = false, .varying = false, .distort = 0}, distinct{.robin = false, .varying = false};
  const std::int64_t cells = 31 * 29, words = 2 * sizeof(double);
  CHECK(stored(alike, "off") - stored(alike, "on") > cells * (words - 2) - 32 * words);
  CHECK(stored(alike, "auto") == stored(alike, "on"));
  CHECK(stored(distinct, "auto") == stored(distinct, "off"));
}

TEST_CASE("a GPU takes no more of the geometry than a product needs") {
  if (tests::device() == Device::host) return;
  const auto chosen = [](CellShape shape, const FormOptions& options) {
    const Problem problem(make_form(shape, 2, {3, 2, 2}, options));
    return find_operator("matrix-free")->make<double>(Reference<double>(problem).from, {})->chosen().at("geometry");
  };
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const bool tensor = mesh::is_tensor(shape);
    CHECK(chosen(shape, {.varying = false, .distort = 0}) == (tensor ? "boxes" : "affine"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .turned = true}) == (tensor ? "boxes" : "affine"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .sheared = true}) == "affine");
    CHECK(chosen(shape, {.varying = false}) == (tensor ? "vertices" : "affine"));
    CHECK(chosen(shape, {.distort = 0}) == "stored");
    CHECK(chosen(shape, {.varying = false, .curved = true}) == "stored");
  }
}

TEST_CASE("patches of one wave of cells, or less, and of several: boxes") {
  check_patches_of_tensor_cells({.varying = false, .distort = 0, .turned = true});
}
TEST_CASE("patches of one wave of cells, or less, and of several: affine cells") {
  check_patches_of_tensor_cells({.varying = false, .distort = 0, .sheared = true});
}
TEST_CASE("patches of one wave of cells, or less, and of several: straight cells") {
  check_patches_of_tensor_cells({.varying = false});
}
TEST_CASE("patches of one wave of cells, or less, and of several: stored factors") {
  check_patches_of_tensor_cells({});
}
TEST_CASE("patches of one wave of cells, or less, and of several: simplices") {
  for (const bool varying : {false, true})
    for (int degree = 1; degree <= 4; ++degree) {
      check_patches(CellShape::triangle, degree, {17, 13, 1}, {.varying = varying});
      check_patches(CellShape::tetrahedron, degree, {5, 4, 4}, {.varying = varying});
    }
}

TEST_CASE("enough cells for many blocks of several colours") {
  check_all(CellShape::quadrilateral, 1, {70, 61, 1}, {});
  check_all(CellShape::tetrahedron, 1, {9, 8, 7}, {});
  check_all(CellShape::hexahedron, 2, {13, 11, 9}, {});
}

TEST_CASE("matrix-free with more Gauss points than nodes") {
  constexpr int most = 16;
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
    for (int degree = 1; degree <= 4; ++degree) {
      for (const int points : {degree + 2, degree + 3}) {
        check_matrix_free(shape, degree, {5, 3, 2}, {.quadrature = points});
        check_matrix_free(shape, degree, {3, 3, 2}, {.quadrature = points, .curved = true});
      }
      check_matrix_free(shape, degree, {3, 3, 1}, {.quadrature = most});
      check_matrix_free(shape, degree, {1, 1, 1}, {.quadrature = degree + 3});
    }
    check_matrix_free(shape, 2, {4, 4, 3}, {.varying = false, .distort = 0, .quadrature = 4});
  }
}

TEST_CASE("and with more cells in a patch of the GPU than its threads work on at once") {
  check_matrix_free(CellShape::quadrilateral, 1, {410, 401, 1}, {.quadrature = 3});
  check_matrix_free(CellShape::hexahedron, 1, {35, 35, 34}, {.quadrature = 3});
}

TEST_CASE("geometry: vertices of matrix-free is refused in one sentence where it is not to be had") {
  const auto small = make_form(CellShape::hexahedron, 2, {2, 2, 2}, {.varying = false, .quadrature = 5});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const auto from = ingredients<double>(small.form, matrices);
  const char* sentence =
      tests::device() == Device::cuda
          ? "option 'geometry' of matrix-free is vertices, which is for as many Gauss points a direction as nodes; "
            "use geometry: stored, or quadrature: 3"
          : "option 'geometry' of matrix-free is vertices, which only a GPU takes; use geometry: auto";
  CHECK_THROWS_WITH_AS(find_operator("matrix-free")->make<double>(from, {{"geometry", "vertices"}}), sentence,
                       std::invalid_argument);
}

TEST_CASE("one cell, and no unknown at all") {
  for (const CellShape shape : mesh::all_cell_shapes) check_all(shape, 1, {1, 1, 1}, {});
  auto small = make_form(CellShape::quadrilateral, 1, {1, 1, 1});
  std::fill(small.form.unknown_of_dof.begin(), small.form.unknown_of_dof.end(), -1);
  small.form.unknowns = 0;
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  for (const OperatorDescription& row : catalogue()) {
    if (!tests::runs_here(row)) continue;
    CAPTURE(row.name);
    const auto a = row.make<double>(ingredients<double>(small.form, matrices), {});
    CHECK(tests::apply(*a, Vector<double>(0)).energy == 0);
  }
}

TEST_CASE("constants map to zero where nothing is constrained") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      const auto small = make_form(shape, degree, {3, 3, 2}, {.constrained = false, .robin = false});
      const ElementMatrices matrices = assemble_element_matrices(small.form);
      for (const OperatorDescription& row : catalogue()) {
        if (!tests::runs_here(row) || (row.needs == Needs::matrix && row.name != "csr")) continue;
        CAPTURE(row.name);
        const auto a = row.make<double>(ingredients<double>(small.form, matrices), {});
        Vector<double> x(a->size());
        fill(x, 1.0);
        const Vector<double> y = tests::apply_without_energy(*a, x), d = tests::diagonal(*a);
        double largest = 0, worst = 0;
        for (std::int32_t i = 0; i < a->size(); ++i) {
          largest = std::max(largest, d[i]);
          worst = std::max(worst, std::abs(y[i]));
        }
        CHECK(worst < 1e-12 * largest);
      }
    }
}

TEST_CASE("apply refuses vectors of another size, and one vector for both") {
  const auto small = make_form(CellShape::quadrilateral, 1, {2, 2, 1});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  auto from = ingredients<double>(small.form, matrices);
  from.device = Device::host;
  const auto a = find_operator("csr")->make<double>(from, {});
  Vector<double> x(a->size()), y(a->size() + 1);
  CHECK_THROWS_AS(a->apply(x, y), std::invalid_argument);
  CHECK_THROWS_AS(a->apply(y, x), std::invalid_argument);
  CHECK_THROWS_AS(a->apply(x, x), std::invalid_argument);
}

TEST_CASE_TEMPLATE("blocks of one colour share no unknown, and every block and cell is there once", T, double, float) {
  for (const CellShape shape : mesh::all_cell_shapes) {
    const auto small = make_form(shape, 2, {12, 11, 7});
    const CellBlocks<T> blocks(small.form, ConflictResolution::coloured);
    CHECK(blocks.colours() > 1);
    std::vector<int> block_uses(blocks.blocks().size(), 0);
    for (int colour = 0; colour < blocks.colours(); ++colour) {
      std::vector<char> used(small.form.unknowns, 0);
      for (std::int32_t i = blocks.colour_offsets()[colour]; i < blocks.colour_offsets()[colour + 1]; ++i) {
        const auto& block = blocks.blocks()[blocks.coloured_blocks()[i]];
        ++block_uses[blocks.coloured_blocks()[i]];
        for (const std::int32_t unknown : blocks.unknowns(block)) CHECK(!used[unknown]++);
      }
    }
    CHECK(std::all_of(block_uses.begin(), block_uses.end(), [](int uses) { return uses == 1; }));
    std::int32_t batches = 0;
    for (const auto& block : blocks.blocks())
      for (std::int32_t batch = block.first_batch; batch < block.last_batch; ++batch, ++batches)
        for (int a = 0; a < blocks.dofs(); ++a)
          for (int l = 0; l < CellBlocks<T>::lanes; ++l) {
            const std::int32_t cell = batch * CellBlocks<T>::lanes + l;
            const int place = blocks.places(batch)[a * CellBlocks<T>::lanes + l];
            const std::int32_t unknown = cell < small.form.cells() ? small.form.unknown(cell, a) : -1;
            CHECK((place == block.unknown_count ? -1 : blocks.unknowns(block)[place]) == unknown);
          }
    CHECK(batches == blocks.batches());
  }
}

TEST_CASE("cells in a scattered order need many colours, and atomic sums none") {
  // Every block reaches into every part of the mesh, so nearly every pair of blocks shares an unknown.
  auto small = make_form(CellShape::quadrilateral, 1, {150, 140, 1}, {.constrained = false, .robin = false});
  const int n = small.mesh->nodes_per_cell();
  std::vector<std::int32_t> order(small.mesh->cell_count());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  const std::vector<std::int32_t> nodes = small.mesh->cell_nodes;
  for (std::size_t cell = 0; cell < order.size(); ++cell)
    std::copy_n(nodes.begin() + std::int64_t{order[cell]} * n, n, small.mesh->cell_nodes.begin() + cell * n);
  *small.space = mesh::FunctionSpace(*small.mesh, 1);

  const CellBlocks<double> coloured(small.form, ConflictResolution::coloured),
      atomic(small.form, ConflictResolution::atomic);
  CHECK(coloured.colours() > 64);
  CHECK(atomic.colours() == 0);
  for (int colour = 0; colour < coloured.colours(); ++colour) {
    std::vector<char> used(small.form.unknowns, 0);
    for (std::int32_t i = coloured.colour_offsets()[colour]; i < coloured.colour_offsets()[colour + 1]; ++i)
      for (const std::int32_t unknown : coloured.unknowns(coloured.blocks()[coloured.coloured_blocks()[i]]))
        REQUIRE(!used[unknown]++);
  }
  const Problem problem(std::move(small));
  const Reference<double> reference(problem);
  for (const char* name : {"lma-atomic", "lma-coloured", "lma-gather", "matrix-free"})
    if (tests::runs_here(*find_operator(name))) check_operator(*find_operator(name), reference);
}

TEST_CASE("options are checked against the catalogue") {
  CHECK_NOTHROW(check_options(*find_operator("csr"), {{"coop", "8"}}));
  CHECK_THROWS_WITH(check_options(*find_operator("csr"), {{"coop", "7"}}), doctest::Contains("option 'coop'"));
  CHECK_THROWS_WITH(check_options(*find_operator("csr"), {{"C", "8"}}), doctest::Contains("no option 'C'"));
  CHECK_NOTHROW(check_options(*find_operator("lma-gather"), {{"patch", "64"}}));
  CHECK_THROWS_WITH(check_options(*find_operator("matrix-free"), {{"patch", "33"}}),
                    doctest::Contains("multiple of 32"));
  CHECK(find_operator("nothing") == nullptr);
}

TEST_CASE("patch is refused in one sentence where it is not to be had") {
  const auto small = make_form(CellShape::quadrilateral, 4, {2, 2, 1});
  const ElementMatrices matrices = assemble_element_matrices(small.form);
  const auto from = ingredients<double>(small.form, matrices);
  const bool on_gpu = tests::device() == Device::cuda;
  CHECK_THROWS_WITH_AS(find_operator("matrix-free")->make<double>(from, {{"patch", "160"}}),
                       doctest::Contains(on_gpu ? "at most 128" : "for the GPU"), std::invalid_argument);
  if (!on_gpu)
    CHECK_THROWS_WITH_AS(find_operator("lma-atomic")->make<double>(from, {{"patch", "160"}}),
                         doctest::Contains("for the GPU"), std::invalid_argument);
}

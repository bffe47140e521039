// Every operator of the catalogue, on the host or on a GPU, compared with the assembled matrix multiplied in long
// double.

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "operators/catalogue.hpp"
#include "operators/cellwise/cell_loops/cell_blocks.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/products.hpp"
#include "tests/threads.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using femcg::tests::Anisotropy;
using femcg::tests::FormOptions;
using femcg::tests::ingredients;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using mesh::CellShape;

namespace {

/// A form with its matrix, and two products and the diagonal of the matrix.
struct Problem {
  explicit Problem(SmallForm form)
      : small(std::move(form)),
        element_matrices(assemble_element_matrices(small.form)),
        matrix(assemble<double>(small.form, element_matrices)),
        first(small.form, matrix, tests::random_numbers(matrix.rows, 11)),
        second(small.form, matrix, tests::random_numbers(matrix.rows, 12)),
        diagonal(small.form, matrix) {}
  SmallForm small;
  ElementMatrices element_matrices;
  CsrMatrix<double> matrix;
  tests::ExpectedProduct first, second;
  tests::ExpectedDiagonal diagonal;
};

/// Checks several vectors at once: each product agrees with the single one up to rounding.
template <class T>
void check_columns(const OperatorDescription& row, const Problem& problem, const Operator<T>& a, const Vector<T>& x,
                   const Vector<T>& z) {
  for (const int count : tests::column_counts) {
    CAPTURE(count);
    const auto written = tests::apply_to_columns(a, x, z, count, true),
               without_energy = tests::apply_to_columns(a, x, z, count, false);
    for (int c = 0; c < count; ++c) {
      CAPTURE(c);
      const tests::ExpectedProduct& expected = c % 2 == 0 ? problem.first : problem.second;
      const tests::Written<T>& found = written[static_cast<std::size_t>(c)];
      CHECK(expected.wrong(row, found.y) == 0);
      CHECK(std::abs(found.energy - expected.energy) <= expected.energy_bound<T>(row));
      CHECK(expected.wrong(row, without_energy[static_cast<std::size_t>(c)].y) == 0);
    }
  }
}

template <class T>
void check_operator(const OperatorDescription& row, const Problem& problem, const Options& given = {}) {
  CAPTURE(row.name);
  const Ingredients<T> from = ingredients<T>(problem.small.form, problem.element_matrices);
  const auto a = row.make<T>(from, given);
  REQUIRE(a->size() == problem.small.form.unknowns);
  const Vector<T> x = tests::as_vector<T>(problem.first.x), z = tests::as_vector<T>(problem.second.x);
  const auto equal = [](const Vector<T>& left, const Vector<T>& right) {
    return std::equal(left.span().begin(), left.span().end(), right.span().begin());
  };
  tests::Written<T> before;
  for (const int threads : tests::device() == Device::host ? std::vector{1, 2, 3} : std::vector{1, 2}) {
    CAPTURE(threads);
    const tests::Threads so_many(threads);
    tests::Written<T> now = tests::apply(*a, x);
    CHECK(problem.first.wrong(row, now.y) == 0);
    CHECK(std::abs(now.energy - problem.first.energy) <= problem.first.energy_bound<T>(row));
    if (tests::has_fixed_order(row.name)) {
      if (threads > 1) CHECK(equal(before.y, now.y));
      if (threads > 1) CHECK(before.energy == now.energy);
      CHECK(equal(now.y, tests::apply_without_energy(*a, x)));
    }
    before = std::move(now);
  }
  CHECK(problem.second.wrong(row, tests::apply_without_energy(*a, z)) == 0);
  check_columns(row, problem, *a, x, z);
  CHECK(problem.diagonal.wrong(row, tests::diagonal(*a)) == 0);

  const Footprint footprint = a->footprint();
  CHECK(footprint.stored_bytes > 0);
  CHECK(footprint.moved_bytes >= 2 * static_cast<std::int64_t>(sizeof(T)) * problem.small.form.unknowns);
  CHECK(footprint.flops > 0);
}

/// Checks an operator in both precisions.
void check_operator(const OperatorDescription& row, const Problem& problem, const Options& given = {}) {
  check_operator<double>(row, problem, given);
  check_operator<float>(row, problem, given);
}

enum class Which { all, of_cells };

/// Checks all operators, or only those by cells, since a matrix format does not depend on the mesh.
void check_all(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options,
               Which which = Which::all) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const Problem problem(make_form(shape, degree, cells, options));
  for (const OperatorDescription& row : catalogue()) {
    if (!tests::runs_here(row) || (which == Which::of_cells && row.needs == Needs::matrix)) continue;
    check_operator(row, problem);
  }
}

/// Checks operators by patches on a GPU, with patches of many and of few waves of cells.
void check_patches(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  const Problem problem(make_form(shape, degree, cells, options));
  const std::string several = "320";
  for (const std::string_view name : {"matrix-free", "lma-gather", "lma-coloured"})
    for (const std::string& patch : {std::string("32"), several}) {
      CAPTURE(patch);
      const bool refused = shape == CellShape::quadrilateral && degree == 4 && patch == several;
      if (name == "matrix-free" && refused) continue;
      check_operator(*find_operator(name), problem, {{"patch", patch}});
    }
}

/// Just enough hexahedra for two patches with the most unknowns: sanitizers take minutes for them.
void check_patches_of_tensor_cells(const FormOptions& options) {
  constexpr std::array<std::array<int, 3>, 4> hexahedra{{{8, 7, 7}, {8, 7, 7}, {6, 6, 5}, {5, 4, 4}}};
  for (int degree = 1; degree <= 4; ++degree) {
    check_patches(CellShape::quadrilateral, degree, {23, 19, 1}, options);
    check_patches(CellShape::hexahedron, degree, hexahedra[static_cast<std::size_t>(degree - 1)], options);
  }
}

/// Checks matrix-free only.
void check_matrix_free(CellShape shape, int degree, std::array<int, 3> cells, const FormOptions& options,
                       const Options& given = {}) {
  CAPTURE(mesh::name(shape));
  CAPTURE(degree);
  CAPTURE(options.quadrature);
  const Problem problem(make_form(shape, degree, cells, options));
  check_operator(*find_operator("matrix-free"), problem, given);
}

std::unique_ptr<Operator<double>> matrix_free(const SmallForm& small, const Options& given) {
  Ingredients<double> from;
  from.device = tests::device();
  from.form = &small.form;
  return find_operator("matrix-free")->make<double>(from, given);
}

}  // namespace

TEST_CASE("every operator is the assembled matrix: shapes, degrees, precisions, thread counts") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) check_all(shape, degree, {5, 3, 2}, {});
}

TEST_CASE("and on affine, straight and curved cells, with constant diffusion, and with more quadrature points") {
  for (const CellShape shape : mesh::all_cell_shapes) {
    for (int degree = 1; degree <= 4; ++degree) {
      check_all(shape, degree, {4, 3, 2}, {.varying = false, .distort = 0}, Which::of_cells);
      check_all(shape, degree, {4, 3, 2}, {.varying = false, .distort = 0, .sheared = true}, Which::of_cells);
      check_all(shape, degree, {3, 3, 2}, {.varying = false}, Which::of_cells);
      check_all(shape, degree, {2, 3, 2}, {.curved = true}, Which::of_cells);
      check_all(shape, degree, {5, 3, 2}, {.varying = false, .partly_curved = true}, Which::of_cells);
      check_all(shape, degree, {3, 2, 2}, {.varying = false, .quadratic = true, .sheared = true}, Which::of_cells);
    }
    check_all(shape, 3, {3, 2, 2}, {.quadrature = 6}, Which::of_cells);
  }
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
    check_matrix_free(shape, 1, {7, 5, 5}, {}, {{"geometry", "stored"}});
    check_matrix_free(shape, 1, {7, 5, 5}, {.quadrature = 4});
    if (tests::device() == Device::cuda)
      check_matrix_free(shape, 1, {7, 5, 5}, {.varying = false}, {{"geometry", "vertices"}});
  }
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron})
    for (const int degree : {1, 2}) check_matrix_free(shape, degree, {5, 4, 3}, {}, {{"geometry", "stored"}});
}

TEST_CASE(
    "and with tensors for diffusion: on cells of every kind, constant and varying, along the axes and along none") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (const Anisotropy anisotropy : {Anisotropy::along_axes, Anisotropy::full}) {
        const auto with = [&](FormOptions options) {
          options.anisotropy = anisotropy;
          return options;
        };
        check_all(shape, degree, {4, 3, 2}, with({}), anisotropy == Anisotropy::full ? Which::all : Which::of_cells);
        check_all(shape, degree, {4, 3, 2}, with({.varying = false, .distort = 0}), Which::of_cells);
        check_all(shape, degree, {4, 3, 2}, with({.varying = false, .distort = 0, .turned = true}), Which::of_cells);
        check_all(shape, degree, {3, 3, 2}, with({.varying = false}), Which::of_cells);
        check_all(shape, degree, {2, 3, 2}, with({.curved = true}), Which::of_cells);
        check_all(shape, degree, {5, 3, 2}, with({.varying = false, .partly_curved = true}), Which::of_cells);
        check_matrix_free(shape, degree, {3, 2, 2}, with({.quadrature = degree + 3}));
      }
}

TEST_CASE("and of bodies of revolution, with numbers and tensors for diffusion, affine, straight and curved cells") {
  for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral})
    for (int degree = 1; degree <= 4; ++degree) {
      check_all(shape, degree, {6, 5, 1}, {.axisymmetric = true});
      for (const Anisotropy anisotropy : {Anisotropy::none, Anisotropy::full})
        check_all(shape, degree, {6, 5, 1},
                  {.varying = false, .distort = 0, .anisotropy = anisotropy, .axisymmetric = true}, Which::of_cells);
      check_all(shape, degree, {3, 4, 1}, {.curved = true, .axisymmetric = true}, Which::of_cells);
      check_all(shape, degree, {5, 3, 1}, {.varying = false, .partly_curved = true, .axisymmetric = true},
                Which::of_cells);
      check_matrix_free(shape, degree, {3, 2, 1}, {.quadrature = degree + 3, .axisymmetric = true});
    }
}

TEST_CASE("the numbers of identical cells are stored once on a GPU, as all others are" * tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      const FormOptions alike{.varying = false, .distort = 0};
      check_matrix_free(shape, degree, {4, 3, 2}, alike, {{"dedup", "on"}});
      check_matrix_free(shape, degree, {4, 3, 2}, alike, {{"dedup", "off"}});
      check_matrix_free(shape, degree, {3, 3, 2}, {.varying = false}, {{"dedup", "on"}});
    }
  const auto stored = [](const FormOptions& options, const char* dedup) {
    return matrix_free(make_form(CellShape::quadrilateral, 2, {31, 29, 1}, options), {{"dedup", dedup}})
        ->footprint()
        .stored_bytes;
  };
  const FormOptions alike{.robin = false, .varying = false, .distort = 0}, distinct{.robin = false, .varying = false};
  const std::int64_t cells = 31 * 29, words = 2 * sizeof(double);
  CHECK(stored(alike, "off") - stored(alike, "on") > cells * (words - 2) - 32 * words);
  CHECK(stored(alike, "auto") == stored(alike, "on"));
  CHECK(stored(distinct, "auto") == stored(distinct, "off"));
}

TEST_CASE("a GPU takes no more of the geometry than a product needs" * tests::needs_gpu()) {
  const auto chosen = [](CellShape shape, const FormOptions& options) {
    return matrix_free(make_form(shape, 2, {3, 2, 2}, options), {})->chosen().at("geometry");
  };
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const bool tensor = mesh::is_tensor(shape);
    CHECK(chosen(shape, {.varying = false, .distort = 0}) == (tensor ? "boxes" : "affine"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .turned = true}) == (tensor ? "boxes" : "affine"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .sheared = true}) == "affine");
    CHECK(chosen(shape, {.varying = false, .distort = 0, .anisotropy = Anisotropy::along_axes}) ==
          (tensor ? "boxes" : "affine"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .anisotropy = Anisotropy::full}) == "affine");
    CHECK(chosen(shape, {.varying = false, .anisotropy = Anisotropy::full}) == (tensor ? "stored" : "affine"));
    CHECK(chosen(shape, {.varying = false}) == (tensor ? "vertices" : "affine"));
    CHECK(chosen(shape, {.distort = 0}) == (tensor ? "stored" : "pairs"));
    CHECK(chosen(shape, {.varying = false, .curved = true}) == (tensor ? "stored" : "pairs"));
    CHECK(chosen(shape, {.varying = false, .partly_curved = true}) == (tensor ? "stored" : "mixed"));
    CHECK(chosen(shape, {.partly_curved = true}) == (tensor ? "stored" : "pairs"));
    CHECK(chosen(shape, {.varying = false, .distort = 0, .quadratic = true}) == (tensor ? "boxes" : "affine"));
  }
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const auto of_degree_1 = [&](const FormOptions& options) {
      return matrix_free(make_form(shape, 1, {3, 2, 2}, options), {})->chosen().at("geometry");
    };
    const bool tensor = mesh::is_tensor(shape);
    CHECK(of_degree_1({.varying = false, .distort = 0}) == (tensor ? "boxes" : "affine"));
    CHECK(of_degree_1({.varying = false}) == (tensor ? "pairs" : "affine"));
    for (const FormOptions& options : {FormOptions{.distort = 0}, FormOptions{.varying = false, .curved = true},
                                       FormOptions{.varying = false, .partly_curved = true}})
      CHECK(of_degree_1(options) == "pairs");
    if (tensor) CHECK(of_degree_1({.varying = false, .distort = 0, .quadrature = 4}) == "pairs");
  }
}

TEST_CASE("patches of one wave of cells, or less, and of several: boxes" * tests::needs_gpu()) {
  check_patches_of_tensor_cells({.varying = false, .distort = 0, .turned = true});
}
TEST_CASE("patches of one wave of cells, or less, and of several: affine cells" * tests::needs_gpu()) {
  check_patches_of_tensor_cells({.varying = false, .distort = 0, .sheared = true});
}
TEST_CASE("patches of one wave of cells, or less, and of several: straight cells" * tests::needs_gpu()) {
  check_patches_of_tensor_cells({.varying = false});
}
TEST_CASE("patches of one wave of cells, or less, and of several: stored factors" * tests::needs_gpu()) {
  check_patches_of_tensor_cells({});
}
TEST_CASE("patches of one wave of cells, or less, and of several: simplices" * tests::needs_gpu()) {
  for (const bool varying : {false, true})
    for (int degree = 1; degree <= 4; ++degree) {
      check_patches(CellShape::triangle, degree, {17, 13, 1}, {.varying = varying});
      check_patches(CellShape::tetrahedron, degree, {5, 4, 4}, {.varying = varying});
    }
}

TEST_CASE("simplices of which some are affine, in waves of either kind" * tests::needs_gpu()) {
  const FormOptions options{.varying = false, .partly_curved = true},
      scattered{.varying = false, .partly_curved = true, .here_and_there = true};
  for (const FormOptions& where : {options, scattered})
    for (int degree = 1; degree <= 4; ++degree) {
      check_patches(CellShape::triangle, degree, {31, 17, 1}, where);
      check_patches(CellShape::tetrahedron, degree, {7, 5, 5}, where);
    }
  const auto stored = [&](const char* geometry) {
    return matrix_free(make_form(CellShape::tetrahedron, 3, {12, 9, 9}, options), {{"geometry", geometry}})
        ->footprint()
        .stored_bytes;
  };
  CHECK(stored("auto") < 0.7 * stored("stored"));
}

TEST_CASE("CG with Robin terms takes as many iterations on a GPU, whose kernels follow each other closely" *
          tests::needs_gpu()) {
  for (const CellShape shape : {CellShape::hexahedron, CellShape::tetrahedron}) {
    const SmallForm small = make_form(shape, 3, {8, 8, 8}, {});
    const auto iterations = [&](Device device) {
      Ingredients<double> from;
      from.device = device;
      from.form = &small.form;
      const auto a = find_operator("matrix-free")->make<double>(from, {});
      Vector<double> b(a->size(), device);
      fill(b, 1.0);
      const auto jacobi = solver::make_preconditioner<double>("jacobi", *a);
      solver::CgOptions<double> options;
      options.method = solver::CgMethod::classic;
      options.preconditioner = jacobi.get();
      options.tolerance = 1e-10;
      std::vector<double> x;
      const solver::CgResult result = solver::conjugate_gradients(*a, b, x, options);
      CHECK(result.reason == solver::StopReason::converged);
      return result.iterations;
    };
    CHECK(std::abs(iterations(Device::cuda) - iterations(Device::host)) <= 2);
  }
}

TEST_CASE("enough cells for many blocks of several colours") {
  check_all(CellShape::quadrilateral, 1, {70, 61, 1}, {});
  check_all(CellShape::tetrahedron, 1, {9, 8, 7}, {});
  check_all(CellShape::hexahedron, 2, {13, 11, 9}, {});
}

TEST_CASE(
    "boxes along no axis, affine and straight cells in several patches, each with as many Gauss points as nodes") {
  for (int degree = 1; degree <= 4; ++degree)
    for (const FormOptions& options : {FormOptions{.varying = false, .distort = 0, .turned = true},
                                       FormOptions{.varying = false, .distort = 0, .sheared = true}, FormOptions{}}) {
      check_matrix_free(CellShape::quadrilateral, degree, {23, 19, 1}, options);
      check_matrix_free(CellShape::hexahedron, degree, {6, 5, 4}, options);
    }
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

TEST_CASE("and with more cells in a patch of the GPU than its threads work on at once" * tests::needs_gpu()) {
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
      const std::vector<double> ones(static_cast<std::size_t>(small.form.unknowns), 1.0);
      const solver::ProductRounding rounding = solver::rounding_of_product(small.form, ones);
      for (const OperatorDescription& row : catalogue()) {
        if (!tests::runs_here(row) || (row.needs == Needs::matrix && row.name != "csr")) continue;
        CAPTURE(row.name);
        const auto a = row.make<double>(ingredients<double>(small.form, matrices), {});
        const Vector<double> y = tests::apply_without_energy(*a, tests::as_vector<double>(ones));
        int wrong = 0;
        for (std::int32_t i = 0; i < a->size(); ++i)
          wrong += std::abs(y[i]) <= rounding.bound(i, tests::unit_roundoff<double>) ? 0 : 1;
        CHECK(wrong == 0);
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
            const int place = blocks.local_indices(batch)[a * CellBlocks<T>::lanes + l];
            const std::int32_t unknown = cell < small.form.cells() ? small.form.unknown(cell, a) : -1;
            CHECK((place == block.unknown_count ? -1 : blocks.unknowns(block)[place]) == unknown);
          }
    CHECK(batches == blocks.batches());
  }
}

TEST_CASE("cells in a scattered order need many colours, and atomic sums none") {
  // Every block extends over the whole mesh, so that nearly every pair of blocks shares an unknown.
  auto small = make_form(CellShape::quadrilateral, 1, {150, 140, 1}, {.constrained = false, .robin = false});
  small.mesh->list_nodes();
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
  for (const char* name : {"lma-atomic", "lma-coloured", "lma-gather", "matrix-free"})
    if (tests::runs_here(*find_operator(name))) check_operator<double>(*find_operator(name), problem);
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

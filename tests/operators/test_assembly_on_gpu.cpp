// Matrices assembled by a GPU, and the cells that it finds suspect.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "operators/forms/suspect_cells.hpp"
#include "operators/stored/assembled/assembly_on_gpu.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
using mesh::CellShape;
using tests::FormOptions;

TEST_CASE("a matrix that the GPU assembles has the pattern of the host's, and its entries to rounding" *
          tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (const FormOptions& options :
           {FormOptions{.distort = 0.1}, FormOptions{.varying = false, .distort = 0}, FormOptions{.curved = true},
            FormOptions{.constrained = false, .robin = false, .distort = 0}}) {
        INFO(mesh::name(shape), " degree ", degree);
        const auto small = tests::make_form(
            shape, degree, mesh::dimension(shape) == 2 ? std::array{9, 7, 1} : std::array{4, 3, 3}, options);
        REQUIRE(can_assemble_on_gpu(small.form));
        const CsrMatrix<double> found = assembled_by_gpu<double>(small.form),
                                expected = assemble<double>(small.form, assemble_element_matrices(small.form));
        REQUIRE(std::ranges::equal(found.row_offsets.span(), expected.row_offsets.span()));
        REQUIRE(std::ranges::equal(found.columns.span(), expected.columns.span()));
        double largest = 0, difference = 0;
        for (std::int64_t k = 0; k < expected.nonzeros(); ++k) {
          largest = std::max(largest, std::abs(expected.values[k]));
          difference = std::max(difference, std::abs(found.values[k] - expected.values[k]));
        }
        CHECK(difference <= 1e-13 * largest);
      }
}

TEST_CASE("suspect cells are the host's" * tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes) {
    CAPTURE(mesh::name(shape));
    const int d = mesh::dimension(shape);
    auto small = tests::make_form(shape, 1, {12, 9, d == 3 ? 6 : 1}, {.varying = false, .distort = 0});
    small.form.diffusion.constant = [](std::int32_t cell) { return cell % 31 == 7 ? 1e4 : 1.0; };
    small.form.diffusion.evaluate = [](std::int32_t cell, std::span<const double>, std::span<double> values) {
      std::ranges::fill(values, cell % 31 == 7 ? 1e4 : 1.0);
    };
    const ElementMatrices matrices = assemble_element_matrices(small.form), there = cuda_element_matrices(small.form);
    const RectangularMatrix a = cuda_assemble(small.form, there);
    const Vector<double> diagonal = diagonal_of(a);
    const auto found = suspect_cells(small.form, there, diagonal);
    CHECK(found == suspect_cells(small.form, matrices, copied(diagonal, Device::host)));
    CHECK(found.size() >= static_cast<std::size_t>(small.form.cells() / 40));
  }
}

// Factors at the quadrature points as computed by a GPU, compared with CellEvaluator's; on the host, their inputs.

#include <doctest/doctest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

#include "operators/cellwise/cell_loops/cell_patches.hpp"
#include "operators/forms/cell_diffusion.hpp"
#include "operators/forms/cell_factors.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::operators;
namespace tests = femcg::tests;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::SmallForm;
using mesh::CellShape;

namespace {

/// D_q from the mesh and the inputs, by the textbook formula: J, then J^-1 by Eigen.
std::vector<double> factors_on_host(const mesh::Mesh& mesh, const FactorInputs& inputs, std::int32_t cell) {
  const int d = inputs.dimension;
  std::vector<double> factors;
  for (int q = 0; q < inputs.points; ++q) {
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(d, d);
    for (int a = 0; a < inputs.nodes; ++a)
      for (int i = 0; i < d; ++i)
        for (int j = 0; j < d; ++j)
          jacobian(i, j) += mesh.point(mesh.nodes(cell)[a])[i] * inputs.gradients[(q * d + j) * inputs.nodes + a];
    const Eigen::MatrixXd inverse = jacobian.inverse();
    const Eigen::MatrixXd factor = inputs.weights[q] * jacobian.determinant() *
                                   inputs.diffusion[inputs.diffusion_per_cell * cell + inputs.diffusion_per_point * q] *
                                   inverse * inverse.transpose();
    for (int a = 0; a < d; ++a)
      for (int b = a; b < d; ++b) factors.push_back(factor(a, b));
  }
  return factors;
}

/// Index in a layout of number k of a slot, k = point x entries + entry.
std::int64_t place(const FactorInputs& inputs, CellLayout layout, std::int64_t slot, int k) {
  const int entries = inputs.entries(), count = inputs.points * entries, q = k / entries, e = k % entries;
  const int together = inputs.dimension == 2 ? 1 : 2;
  constexpr int group = CellPatches::group;
  return layout == CellLayout::interleaved
             ? (slot / group * count + k) * group + slot % group
             : slot * count + (e / together * inputs.points + q) * together + e % together;
}

/// Factors of all slots in the patches' layout, from the device of the test.
template <class T>
Vector<T> computed(const BilinearForm& form, const CellPatches& patches) {
  const FactorInputs inputs = factor_inputs(form, tests::device());
  if (tests::device() == Device::cuda)
    return copied(cuda_cell_factors<T>(inputs, copied(patches.cell_of_slot, Device::cuda), patches.layout),
                  Device::host);
  const int count = inputs.points * inputs.entries();
  Vector<T> factors(patches.slots() * count);
  for (std::int64_t slot = 0; slot < patches.slots(); ++slot) {
    std::vector<double> of_cell(count, 0.0);
    if (patches.cell_of_slot[slot] >= 0)
      of_cell = factors_on_host(form.space->mesh(), inputs, patches.cell_of_slot[slot]);
    for (int k = 0; k < count; ++k) factors[place(inputs, patches.layout, slot, k)] = static_cast<T>(of_cell[k]);
  }
  return factors;
}

template <class T>
void check_factors(const BilinearForm& form, CellLayout layout) {
  const CellPatches patches = make_cell_patches(form, {.cells = 20, .layout = layout});
  const FactorInputs inputs = factor_inputs(form, Device::host);
  const Vector<T> factors = computed<T>(form, patches);
  CellEvaluator evaluator(form);
  const std::int64_t count = static_cast<std::int64_t>(evaluator.factors().size());
  REQUIRE(factors.size() == patches.slots() * count);
  double worst = 0;
  for (std::int64_t slot = 0; slot < patches.slots(); ++slot) {
    const std::int32_t cell = patches.cell_of_slot[slot];
    std::vector<double> expected(count, 0.0);
    double largest = 1;
    if (cell >= 0) {
      evaluator.move_to(cell);
      std::copy(evaluator.factors().begin(), evaluator.factors().end(), expected.begin());
      largest = *std::max_element(expected.begin(), expected.end());
    }
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = place(inputs, layout, slot, static_cast<int>(k));
      worst = std::max(worst, std::abs(static_cast<double>(factors[at]) - expected[k]) / largest);
    }
  }
  CHECK(worst <= 50 * std::numeric_limits<T>::epsilon());
}

}  // namespace

TEST_CASE("factors are CellEvaluator's: shapes, straight and curved, constant and varying, both layouts") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const FormOptions& options :
         {FormOptions{}, FormOptions{.varying = false}, FormOptions{.curved = true}, FormOptions{.quadrature = 5}})
      for (const CellLayout layout : {CellLayout::interleaved, CellLayout::cell_major}) {
        CAPTURE(mesh::name(shape));
        const SmallForm small = make_form(shape, 2, {5, 4, 3}, options);
        check_factors<double>(small.form, layout);
        check_factors<float>(small.form, layout);
      }
}

TEST_CASE("the diffusion takes one number, one a cell or one a point") {
  SmallForm small = make_form(CellShape::triangle, 2, {4, 3, 1}, {.varying = false});
  CHECK(factor_inputs(small.form, Device::host).diffusion.size() == 1);
  small.form.diffusion.constant = [](std::int32_t) { return std::optional(1.5); };
  small.form.diffusion.evaluate = nullptr;  // must not be called
  CHECK(factor_inputs(small.form, Device::host).diffusion[0] == 1.5);
  small.form.diffusion.constant = [](std::int32_t cell) { return std::optional(cell < 3 ? 1.0 : 2.0); };
  const FactorInputs by_cell = factor_inputs(small.form, Device::host);
  CHECK(by_cell.diffusion.size() == small.form.cells());
  CHECK(by_cell.diffusion[2 * by_cell.diffusion_per_cell] == 1);
  CHECK(by_cell.diffusion[3 * by_cell.diffusion_per_cell] == 2);

  // If one cell is not known to be constant, all cells are evaluated.
  small.form.diffusion.evaluate = [](std::int32_t cell, std::span<const double>, std::span<double> values) {
    std::fill(values.begin(), values.end(), cell < 3 ? 1.0 : 2.0);
  };
  small.form.diffusion.constant = [](std::int32_t cell) { return cell < 3 ? std::optional(1.0) : std::nullopt; };
  CHECK(factor_inputs(small.form, Device::host).diffusion.size() == small.form.cells());
  const SmallForm varying = make_form(CellShape::triangle, 2, {4, 3, 1});
  const FactorInputs by_point = factor_inputs(varying.form, Device::host);
  CHECK(by_point.diffusion.size() == std::int64_t{varying.form.cells()} * by_point.points);
}

namespace {

/// 1 + x + 2 y^2, but `low` for x below 0.5, a plane between cells of make_form's boxes with four cells along x.
PointProgram varying_above_half(double low, double factor) {
  PointProgramBuilder builder;
  const auto x = PointProgramBuilder::coordinate(0), y = PointProgramBuilder::coordinate(1);
  const auto smooth = builder.apply(
      PointOperation::add, builder.apply(PointOperation::add, builder.constant(1), x),
      builder.apply(PointOperation::multiply, builder.constant(2), builder.apply(PointOperation::multiply, y, y)));
  const auto is_low = builder.apply(PointOperation::less, x, builder.constant(0.5));
  const auto value =
      builder.apply(PointOperation::select, is_low, builder.constant(low),
                    builder.apply(PointOperation::add, builder.constant(1 - factor),
                                  builder.apply(PointOperation::multiply, builder.constant(factor), smooth)));
  return *builder.finish({&value, 1});
}

/// Sets two regions with one program each.
void set_programs(SmallForm& small, const PointProgram& first, const PointProgram& second) {
  small.mesh->region_names = {"first", "second"};
  for (std::size_t cell = 0; cell < small.mesh->cell_regions.size(); ++cell)
    small.mesh->cell_regions[cell] = static_cast<std::int32_t>(cell % 2);
  small.form.diffusion.by_region = {first, second};
  small.form.diffusion.evaluate = [&small](std::int32_t cell, std::span<const double> points,
                                           std::span<double> values) {
    small.form.diffusion.by_region[static_cast<std::size_t>(small.mesh->cell_regions[cell])].evaluate(points, values);
    for (const double value : values)
      if (!(value > 0)) throw std::domain_error("not above 0");
  };
}

}  // namespace

TEST_CASE("programs of the diffusion give on a device what they give on the host") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const FormOptions& options : {FormOptions{}, FormOptions{.curved = true}}) {
      CAPTURE(mesh::name(shape));
      SmallForm small = make_form(shape, 2, {4, 3, 3}, options);
      set_programs(small, varying_above_half(0.25, 1), PointProgram(3));
      const FactorInputs expected = factor_inputs(small.form, Device::host),
                         inputs = factor_inputs(small.form, tests::device());
      const Vector<double> found = copied(inputs.diffusion, Device::host);
      CHECK(inputs.diffusion_per_cell == expected.points);
      CHECK(inputs.diffusion_per_point == 1);
      REQUIRE(found.size() == expected.diffusion.size());
      for (std::int64_t k = 0; k < found.size(); ++k)
        CHECK(found[k] == doctest::Approx(expected.diffusion[k]).epsilon(1e-14));
      const std::vector<std::int32_t> jumps = cells_with_jumps(small.form, {1.2, 1e6}, Device::host);
      CHECK(!jumps.empty());
      CHECK(std::ssize(jumps) < small.form.cells() / 2);  // the second region's diffusion is 3
      CHECK(cells_with_jumps(small.form, {1.2, 1e6}, tests::device()) == jumps);
    }
}

TEST_CASE("programs that are constant in all cells are taken as such, wrong ones are refused") {
  SmallForm small = make_form(CellShape::hexahedron, 2, {4, 3, 3}, {.distort = 0});
  set_programs(small, varying_above_half(0.25, 0), PointProgram(3));
  const FactorInputs inputs = factor_inputs(small.form, tests::device());
  CHECK(inputs.diffusion.size() == small.form.cells());
  CHECK(inputs.diffusion_per_cell == 1);
  CHECK(inputs.diffusion_per_point == 0);
  const Vector<double> found = copied(inputs.diffusion, Device::host);
  const FactorInputs expected = factor_inputs(small.form, Device::host);
  REQUIRE(expected.diffusion.size() == found.size());
  for (std::int64_t cell = 0; cell < found.size(); ++cell) CHECK(found[cell] == expected.diffusion[cell]);

  set_programs(small, varying_above_half(3, 0), PointProgram(3));
  small.form.diffusion.by_region[0] = PointProgram(3);
  CHECK(factor_inputs(small.form, tests::device()).diffusion.size() == 1);
  set_programs(small, varying_above_half(-1, 1), PointProgram(3));
  CHECK_THROWS_AS(factor_inputs(small.form, tests::device()), std::domain_error);
}

// The residual on the GPU compared with the slow reference, and CG with its solution on the GPU.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "operators/forms/check/form_product_on_gpu.hpp"
#include "operators/forms/check/reference.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/numbers.hpp"

using namespace femcg;
using namespace femcg::operators;
using femcg::tests::FormOptions;
using femcg::tests::make_form;
using femcg::tests::norm;
using femcg::tests::random_numbers;
using mesh::CellShape;

namespace {

Vector<double> on_gpu(const std::vector<double>& x) {
  Vector<double> there(std::ssize(x), Device::cuda);
  copy_bytes(x.data(), Device::host, there.data(), Device::cuda, there.bytes());
  return there;
}

/// Residual; the output is filled with NaN beforehand.
std::vector<double> residual(const FormProductOnGpu& product, const std::vector<double>& x,
                             const std::vector<double>& b) {
  const std::vector<double> none(x.size(), std::numeric_limits<double>::quiet_NaN());
  Vector<double> r = on_gpu(none), scratch = on_gpu(none);
  product.residual(on_gpu(x), on_gpu(b), r, scratch);
  std::vector<double> found(x.size());
  copy_bytes(r.data(), Device::cuda, found.data(), Device::host, r.bytes());
  return found;
}

std::vector<double> times(std::vector<double> x, double factor) {
  for (double& value : x) value *= factor;
  return x;
}

}  // namespace

TEST_CASE("the residual is that of the slow reference on every shape, degree and geometry" * tests::needs_gpu()) {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree)
      for (FormOptions options :
           {FormOptions{}, FormOptions{.varying = false, .distort = 0}, FormOptions{.curved = true},
            FormOptions{.quadrature = degree + 3}, FormOptions{.robin = false}}) {
        options.distort = std::min(options.distort, mesh::most_distortion(shape));
        const auto small =
            make_form(shape, degree, dimension(shape) == 2 ? std::array{5, 7, 1} : std::array{3, 3, 2}, options);
        INFO(mesh::name(shape), " degree ", degree, " quadrature ", small.form.quadrature);
        const std::vector<double> x = random_numbers(small.form.unknowns, 3),
                                  b = ReferenceOperator(small.form).apply(x);
        const FormProductOnGpu product(small.form);
        CHECK(norm(residual(product, x, b)) <= 1e-12 * norm(b));
        CHECK(norm(residual(product, times(x, 0.5), b)) == doctest::Approx(0.5 * norm(b)).epsilon(1e-12));
      }
}

TEST_CASE("sums hold from one product to the next whatever the numbers' size" * tests::needs_gpu()) {
  const auto small = make_form(CellShape::tetrahedron, 2, {5, 4, 3});
  const std::vector<double> x = random_numbers(small.form.unknowns, 5), b = ReferenceOperator(small.form).apply(x);
  const std::vector<double> zero(x.size(), 0.0);
  const FormProductOnGpu product(small.form, FormProductOnGpu::Unknowns::kept);
  for (const double factor : {1e-3, 1e140, 1.0, 1e-140, 0.0, 1e10})
    CHECK(norm(residual(product, times(x, factor), times(b, factor))) <= 1e-12 * factor * norm(b));
  CHECK(residual(product, zero, b) == b);
  std::vector<double> broken = x;
  broken[7] = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(norm(residual(product, broken, b))));
  CHECK(norm(residual(product, x, b)) <= 1e-12 * norm(b));
}

TEST_CASE("the residual is the same to the bit every time, of more cells than come at once" * tests::needs_gpu()) {
  const auto small = make_form(CellShape::hexahedron, 4, {33, 33, 33});  // with 125 dofs each, 4.5 million in total
  const std::vector<double> x = random_numbers(small.form.unknowns, 7), b(x.size(), 1.0);
  const FormProductOnGpu product(small.form);
  const std::vector<double> first = residual(product, x, b);
  CHECK(residual(product, x, b) == first);
  CHECK(residual(FormProductOnGpu(small.form), x, b) == first);
  const FormProductOnGpu kept(small.form, FormProductOnGpu::Unknowns::kept);
  for (int product_number = 0; product_number < 3; ++product_number) CHECK(residual(kept, x, b) == first);
  const std::vector<double> expected = ReferenceOperator(small.form).apply(x);
  double difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) difference = std::max(difference, std::abs(1 - expected[i] - first[i]));
  CHECK(difference <= 1e-12 * norm(expected));
}

TEST_CASE("CG whose solution is kept on the GPU finds what it finds otherwise" * tests::needs_gpu()) {
  const auto small = make_form(CellShape::tetrahedron, 3, {6, 6, 6});
  const FormProductOnGpu product(small.form);
  const std::vector<double> load = random_numbers(small.form.unknowns, 9);
  const ReferenceOperator reference(small.form);
  const auto check = [&]<class T>(const char* name, T, double reliable_update, bool from_x) {
    INFO(name, " ", sizeof(T), " bytes, reliable updates ", reliable_update, ", from x ", from_x);
    Ingredients<T> from;
    from.device = Device::cuda;
    from.form = &small.form;
    const auto a = find_operator(name)->template make<T>(from, {});
    const Vector<double> b = on_gpu(load);
    Vector<T> rounded(a->size());
    for (std::int64_t i = 0; i < rounded.size(); ++i) rounded[i] = static_cast<T>(load[i]);
    const auto jacobi = solver::make_preconditioner<T>("jacobi", *a);
    solver::CgOptions<T> options;
    options.method = solver::CgMethod::classic;
    options.preconditioner = jacobi.get();
    options.tolerance = 1e-9;
    options.reliable_update = reliable_update;
    options.from_x = from_x;
    options.residual_on_gpu = [&](const Vector<double>& x, Vector<double>& r, Vector<double>& scratch) {
      product.residual(x, b, r, scratch);
    };
    std::vector<double> x = from_x ? random_numbers(load.size(), 11) : std::vector<double>();
    const solver::CgResult result = solver::conjugate_gradients(*a, copied(rounded, Device::cuda), x, options);
    CHECK(result.reason == solver::StopReason::converged);
    std::vector<double> r = reference.apply(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] -= load[i];
    CHECK(norm(r) <= 1.001e-9 * norm(load));
    CHECK(norm(r) == doctest::Approx(result.true_relative_residual * norm(load)).epsilon(1e-2));
  };
  for (const bool from_x : {false, true}) {
    check("matrix-free", 1.0, 0, from_x);
    check("matrix-free", 1.0F, 0, from_x);
    check("matrix-free", 1.0F, solver::update_factor, from_x);
    check("matrix-free", 1.0, solver::update_factor, from_x);
  }
}

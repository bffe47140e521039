// Predicted times of operators.

#include <doctest/doctest.h>

#include <cmath>

#include "operators/backend/memory.hpp"
#include "operators/stored/assembled/expected_entries.hpp"
#include "solver/krylov/cg.hpp"
#include "solver/messages/error.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/iterations.hpp"
#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/models/input_bytes.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/problem/choose_device.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::solver;
namespace tests = femcg::tests;
using mesh::CellShape;
using operators::CsrMatrix;
using operators::Device;
using operators::MatrixRows;

namespace {

constexpr double gigabyte = 1e9;

/// Rates of a machine with round numbers.
Rates round_rates(Device device = Device::host) {
  Rates rates;
  rates.device = device;
  rates.threads = 2;
  rates.copy_bandwidth = device == Device::host ? 20 * gigabyte : 4230 * gigabyte;
  if (device == Device::host) {
    rates.reads = {{1 << 20, 40 * gigabyte}, {64 << 20, 20 * gigabyte}};
    rates.flops = 20 * gigabyte;
  }
  return rates;
}

PredictionInput prediction_input(const operators::BilinearForm* form, Device device = Device::host) {
  PredictionInput of;
  of.device = device;
  of.form = form;
  of.preconditioner = find_preconditioner("jacobi");
  of.iterations = 100;
  of.available = [](Device) { return std::int64_t{1} << 40; };
  return of;
}

/// Matrix with rows of these lengths; the entries are 1, on the diagonal and to its right.
CsrMatrix<double> rows_of(const std::vector<std::int32_t>& lengths) {
  CsrMatrix<double> matrix;
  matrix.rows = static_cast<std::int32_t>(lengths.size());
  matrix.row_offsets = operators::Vector<std::int64_t>(matrix.rows + std::int64_t{1});
  matrix.row_offsets[0] = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    matrix.row_offsets[row + 1] = matrix.row_offsets[row] + lengths[static_cast<std::size_t>(row)];
  matrix.columns = operators::Vector<std::int32_t>(matrix.row_offsets[matrix.rows]);
  matrix.values = operators::Vector<double>(matrix.row_offsets[matrix.rows]);
  operators::fill(matrix.values, 1.0);
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k)
      matrix.columns[k] = static_cast<std::int32_t>((row + k - matrix.row_offsets[row]) % matrix.rows);
  return matrix;
}

const Prediction& of(const std::string& name, const std::vector<Prediction>& all) {
  const auto found = std::ranges::find_if(all, [&](const Prediction& each) { return each.op.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("bandwidths between measured sizes are on a line over the logarithm") {
  const Rates rates = round_rates();
  CHECK(rates.reading(1000) == doctest::Approx(40 * gigabyte));
  CHECK(rates.reading(1 << 20) == doctest::Approx(40 * gigabyte));
  CHECK(rates.reading(8 << 20) == doctest::Approx(30 * gigabyte));  // 3 of 6 doublings: half-way
  CHECK(rates.reading(1e12) == doctest::Approx(20 * gigabyte));
  CHECK(round_rates(Device::cuda).reading(1000) == doctest::Approx(4230 * gigabyte));
}

TEST_CASE("x comes from memory once where neighbours are near, and once a block where they are far") {
  constexpr std::int32_t n = 1 << 14;
  const auto matrix = [](std::int32_t shift) {
    CsrMatrix<double> made = rows_of(std::vector<std::int32_t>(n, 2));
    for (std::int32_t row = 0; row < n; ++row) made.columns[2 * row + 1] = (row + shift) % n;
    return made;
  };
  const CsrMatrix<double> near = matrix(8), far = matrix(n / 2);
  const double x = 8.0 * n;
  // Half of the cache holds a sixteenth of the data that is read: sixteen blocks. Each block of the near rows reads one
  // line of 64 bytes of the next block.
  const auto bytes = [&](const CsrMatrix<double>& of, double cache) {
    return locality(of.row_offsets.span(), of.columns.span(), 8, 2 * x, cache).input_bytes;
  };
  CHECK(bytes(near, x / 4) == x + 16 * 64);
  CHECK(bytes(far, x / 4) == 2 * x);
  CHECK(bytes(far, 2 * x) == x);  // all of x stays in the cache
  CHECK(locality(near.row_offsets.span(), near.columns.span(), 8, x, x).narrow);
  CsrMatrix<double> wide = rows_of(std::vector<std::int32_t>(40000, 2));
  wide.columns[1] = 39999;
  CHECK_FALSE(locality(wide.row_offsets.span(), wide.columns.span(), 8, x, x).narrow);
}

TEST_CASE("a GPU fetches whole groups of 64 bytes of ELLPACK-R") {
  std::vector<std::int64_t> offsets(33);
  for (std::int64_t row = 0; row <= 32; ++row) offsets[static_cast<std::size_t>(row)] = 5 * row;
  CHECK(fetched_by_ellpack_r(offsets, 8) == 32 * 5 * 12 + 4 * 32);  // rows of equal length: no excess
  for (std::size_t row = 1; row <= 32; ++row) offsets[row] += 4;    // the first row has 9 entries
  // Eight neighbouring rows share a group of values, sixteen a group of columns.
  CHECK(fetched_by_ellpack_r(offsets, 8) == 32 * 5 * 12 + 4 * 32 + 8 * 4 * 8 + 16 * 4 * 4);
}

TEST_CASE("twice the bytes over twice the bandwidth take as long") {
  const CsrMatrix<double> matrix = rows_of(std::vector<std::int32_t>(1 << 20, 9));
  const auto seconds = [&](const Rates& rates, const char* name) {
    const BandwidthModel model(rates);
    return of(name, predict<double>(prediction_input(nullptr, rates.device), {{name, {}, {}}}, nullptr, &matrix, model,
                                    rates))
        .product;
  };
  Rates gpu = round_rates(Device::cuda), twice = gpu;
  twice.copy_bandwidth *= 2;
  for (const char* name : {"csr", "sell"}) {
    // On a GPU the latency does not change.
    CHECK(seconds(twice, name) - 5e-6 == doctest::Approx((seconds(gpu, name) - 5e-6) / 2));
    // Bounded by the copy bandwidth of an H200 and by the losses of the operator.
    const double least = (9 * 12 + 20) * 1048576.0 / gpu.copy_bandwidth;
    CHECK(seconds(gpu, name) > 0.7 * least);
    CHECK(seconds(gpu, name) < 2 * least);
  }
}

TEST_CASE("a single long row makes ellpack hopeless") {
  std::vector<std::int32_t> lengths(400000, 3);
  lengths[7] = 60;
  const CsrMatrix<double> matrix = rows_of(lengths);
  for (const Device device : {Device::host, Device::cuda}) {
    const Rates rates = round_rates(device);
    const BandwidthModel model(rates);
    const auto all =
        predict<double>(prediction_input(nullptr, device), {{"ellpack", {}, {}}, {"csr", {}, {}}, {"sell", {}, {}}},
                        nullptr, &matrix, model, rates);
    if (of("ellpack", all).possible()) CHECK(of("ellpack", all).product > 2 * of("csr", all).product);
  }
  lengths[7] = 300000;  // the padding exceeds the limit
  const CsrMatrix<double> arrow = rows_of(lengths);
  const Rates rates = round_rates();
  const auto all = predict<double>(prediction_input(nullptr), {{"ellpack", {}, {}}, {"csr", {}, {}}}, nullptr, &arrow,
                                   BandwidthModel(rates), rates);
  CHECK_FALSE(of("ellpack", all).possible());
  CHECK(of("ellpack", all).not_possible.find("sell") != std::string::npos);
}

TEST_CASE("a GPU waits for the thread that goes along the longest row") {
  const auto product_of_sell = [](const CsrMatrix<double>& matrix) {
    const Rates rates = round_rates(Device::cuda);
    const BandwidthModel model(rates);
    return predict<double>(prediction_input(nullptr, Device::cuda), {{"sell", {}, {}}}, nullptr, &matrix, model, rates)
        .front()
        .product;
  };
  std::vector<std::int32_t> lengths(20000, 5);
  const double even = product_of_sell(rows_of(lengths));
  lengths[7000] = 10000;
  const double uneven = product_of_sell(rows_of(lengths));
  CHECK(even < 20e-6);
  CHECK(uneven > 500e-6);
}

TEST_CASE("a matrix has about as many entries as its cells tell") {
  for (const CellShape shape :
       {CellShape::triangle, CellShape::quadrilateral, CellShape::tetrahedron, CellShape::hexahedron})
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const auto small = tests::make_form(shape, degree, {12, 12, mesh::dimension(shape) == 3 ? 6 : 1});
      const auto entries = static_cast<double>(operators::sparsity_pattern(small.form).nonzeros());
      for (int of = degree; of <= 4; ++of) {
        const auto finer = tests::make_form(shape, of, {12, 12, mesh::dimension(shape) == 3 ? 6 : 1});
        CHECK(operators::expected_entries(finer.form, degree) < 1.3 * entries);
        CHECK(operators::expected_entries(finer.form, degree) > 0.9 * entries);
      }
    }
}

TEST_CASE("regret is the time that auto's choice loses against the best that was measured") {
  // 20 + 100 x 0.9 = 110 s; c takes 100 s.
  const Regret regret = regret_of(1, {{"a", 1.0, 10, 1.0}, {"b", 0.8, 20, 0.9}, {"c", 0.7, 20, 0.8}}, 100);
  CHECK(regret.chosen == 1);
  CHECK(regret.best == 2);
  CHECK(regret.of_solution);
  CHECK(regret.regret == doctest::Approx(0.1));
  // Without times of CG, the regret is that of products.
  const Regret of_products = regret_of(0, {{"a", 1.0, 10, 0}, {"b", 1.0, 20, 0}, {"c", 0.5, 20, 0}}, 100);
  CHECK_FALSE(of_products.of_solution);
  CHECK(of_products.regret == doctest::Approx(1));
}

TEST_CASE("what is too small for a GPU stays on the processor, and a sentence says so") {
  SolverChoice solver;
  CHECK(why_on_host(solver, 100'000, 1, 16).find("too small to gain from a GPU") != std::string::npos);
  CHECK(why_on_host(solver, 100'000, 1, 2).empty());
  CHECK(why_on_host(solver, 100'000, 8, 16).empty());
  SolverChoice asked = solver;
  asked.device = "cuda";
  CHECK(why_on_host(asked, 1, 1, 16).empty());
  SolverChoice slow = solver;
  slow.preconditioner.name = "jacobi";
  CHECK(why_on_host(slow, 100'000, 1, 16).empty());
  SolverChoice only_on_gpu = solver;
  only_on_gpu.op.name = "cusparse-csr";
  if (operators::find_operator("cusparse-csr") != nullptr) CHECK(why_on_host(only_on_gpu, 1, 1, 16).empty());
}

TEST_CASE("the rule for iterations is that of CG on the unit square, within 40%") {
  for (const CellShape shape : {CellShape::quadrilateral, CellShape::triangle})
    for (const int degree : {1, 2, 4}) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      tests::SmallForm small;
      small.mesh = std::make_unique<mesh::Mesh>(mesh::make_box({shape, {48 / degree, 48 / degree, 1}, {1, 1, 1}, 0}));
      small.space = std::make_unique<mesh::FunctionSpace>(*small.mesh, degree);
      small.form.space = small.space.get();
      small.form.quadrature = degree + 1;
      small.form.diffusion.evaluate = [](std::int32_t, std::span<const double>, std::span<double> values) {
        std::ranges::fill(values, 1.0);
      };
      small.form.diffusion.constant = [](std::int32_t) { return std::optional(1.0); };
      // u = 0 on the whole boundary.
      small.form.unknown_of_dof.assign(static_cast<std::size_t>(small.space->dof_count()), -1);
      const std::vector<double> points = small.space->dof_points();
      for (std::size_t dof = 0; dof < small.form.unknown_of_dof.size(); ++dof) {
        const double x = points[2 * dof], y = points[2 * dof + 1];
        if (x > 1e-9 && x < 1 - 1e-9 && y > 1e-9 && y < 1 - 1e-9)
          small.form.unknown_of_dof[dof] = small.form.unknowns++;
      }
      operators::Ingredients<double> from;
      from.form = &small.form;
      const auto a = operators::find_operator("matrix-free")->make<double>(from, {});
      const auto jacobi = make_preconditioner("jacobi", *a);
      operators::Vector<double> b(a->size());
      operators::fill(b, 1.0);
      CgOptions<double> options;
      options.preconditioner = jacobi.get();
      std::vector<double> x;
      const auto taken = static_cast<double>(conjugate_gradients(*a, b, x, options).iterations);
      CHECK(expected_iterations(small.form, 1e-8, 10000) == doctest::Approx(taken).epsilon(0.4));
      CHECK(expected_iterations(small.form, 1e-4, 10000) < 0.6 * expected_iterations(small.form, 1e-8, 10000));
      CHECK(expected_iterations(small.form, 1e-8, 7) == 7);
    }
}

TEST_CASE("every operator of either device is predicted, more with more right-hand sides") {
  for (const CellShape shape : mesh::all_cell_shapes)
    for (const int degree : {1, 3})
      for (const Device device : {Device::host, Device::cuda}) {
        const bool flat = mesh::dimension(shape) == 2;
        const auto small = tests::make_form(shape, degree, flat ? std::array{20, 20, 1} : std::array{5, 5, 5});
        const Rates rates = round_rates(device);
        const MatrixRows<double> rows(small.form);
        PredictionInput prediction_input_of_many = prediction_input(&small.form, device);
        const auto one = predict<double>(prediction_input_of_many, all_operators_of(device), &rows, nullptr,
                                         BandwidthModel(rates), rates);
        prediction_input_of_many.systems = 8;
        prediction_input_of_many.method = CgMethod::batched;
        const auto eight = predict<double>(prediction_input_of_many, all_operators_of(device), &rows, nullptr,
                                           BandwidthModel(rates), rates);
        REQUIRE(one.size() == all_operators_of(device).size());
        for (std::size_t i = 0; i < one.size(); ++i) {
          CAPTURE(one[i].op.name);
          CAPTURE(one[i].not_possible);
          CHECK(one[i].possible());
          CHECK(one[i].product > 0);
          CHECK(one[i].iteration > 0);
          CHECK(std::isfinite(one[i].seconds()));
          CHECK(eight[i].product >= one[i].product);
          CHECK(eight[i].product <= 8.001 * one[i].product);
        }
        prediction_input_of_many.method = CgMethod::automatic;
        const auto automatic = predict<double>(prediction_input_of_many, all_operators_of(device), &rows, nullptr,
                                               BandwidthModel(rates), rates);
        for (std::size_t i = 0; i < automatic.size(); ++i) {
          CAPTURE(automatic[i].op.name);
          if (device == Device::host) CHECK(automatic[i].loops == doctest::Approx(one[i].loops / 2));  // block CG
          if (automatic[i].loops > one[i].loops) continue;  // solved one after the other
          CHECK_FALSE(automatic[i].persistent);
          CHECK(automatic[i].iteration > automatic[i].product);
        }
      }
}

// Corrections of the bandwidth model: between sizes, in a file, in a prediction, and as made by femcg predict --train.

#include "solver/prediction/models/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "solver/prediction/models/bandwidth_model.hpp"
#include "solver/prediction/prediction.hpp"
#include "solver/prediction/training/calibrate.hpp"
#include "tests/forms.hpp"

using namespace femcg;
using namespace femcg::solver;
using mesh::CellShape;
using operators::Device;

namespace {

const CorrectionKey csr{"csr", CellShape::quadrilateral, 2, 8, ""};

Calibration two_sizes() {
  Calibration made;
  made.add(csr, 1e5, {8, 1, 0.5, 4});
  made.add(csr, 1e3, {2, 1, 2, 1});
  return made;
}

Rates round_rates() {
  Rates rates;
  rates.threads = 2;
  rates.copy_bandwidth = 20e9;
  rates.reads = {{1 << 20, 40e9}};
  rates.flops = 20e9;
  return rates;
}

}  // namespace

TEST_CASE("corrections are on lines over the logarithm of the size, and constant or 1 beyond") {
  Calibration of = two_sizes();
  CHECK(of.at(csr, 1e4).product == doctest::Approx(4));
  CHECK(of.at(csr, 1e4).assembly == doctest::Approx(1));
  CHECK(of.at(csr, 1e4).conversion == doctest::Approx(2));
  CHECK(of.at(csr, 1).product == doctest::Approx(2));
  CHECK(of.at(csr, 1e9).product == doctest::Approx(8));
  of.fitted_unknowns = 1e7;
  CHECK(of.at(csr, 1e6).product == doctest::Approx(std::sqrt(8.0)));
  CHECK(of.at(csr, 1e7).product == doctest::Approx(1));
  CHECK(of.at(csr, 1e9).product == doctest::Approx(1));
  CorrectionKey other = csr;
  other.degree = 3;
  CHECK(of.at(other, 1e4).product == 1);
  of.add(csr, 1e5, {16, 1, 1, 1});  // replaces the previous one
  CHECK(of.at(csr, 1e5).product == doctest::Approx(16));
}

TEST_CASE("corrections come back from their file, and what is no such file is told") {
  Calibration of = two_sizes();
  of.fitted_unknowns = 4e6;
  const Calibration back = Calibration::from_json(nlohmann::ordered_json::parse(of.to_json().dump()));
  for (const double unknowns : {10.0, 3e4, 1e6, 1e8}) {
    CHECK(back.at(csr, unknowns).product == of.at(csr, unknowns).product);
    CHECK(back.at(csr, unknowns).conversion == of.at(csr, unknowns).conversion);
  }
  for (const auto& [what, value] : {std::pair{"/corrections/0/cell", nlohmann::ordered_json("sphere")},
                                    {"/corrections/0/factors/0", {1, 2, 3}},
                                    {"/corrections/0/factors/0/1", -1},
                                    {"/corrections", 3}}) {
    nlohmann::ordered_json damaged = of.to_json();
    damaged[nlohmann::ordered_json::json_pointer(what)] = value;
    CAPTURE(what);
    CHECK_THROWS_AS(Calibration::from_json(damaged), std::exception);
  }
}

TEST_CASE("a calibration multiplies what is predicted with an operator's defaults") {
  const auto small = tests::make_form(CellShape::quadrilateral, 2, {20, 20, 1});
  PredictionInput of;
  of.form = &small.form;
  of.preconditioner = find_preconditioner("jacobi");
  of.iterations = 100;
  of.available = [](Device) { return std::int64_t{1} << 40; };
  const std::vector<OperatorChoice> chosen{{"csr", {}, {}}, {"sell", {}, {}}, {"csr", {{"values", "single"}}, {}}};
  const auto predicted = [&](const Rates& rates) {
    const BandwidthModel model(rates);
    std::optional<operators::MatrixRows<double>> rows;
    return predict<double>(of, chosen, model, rates, rows);
  };
  Rates rates = round_rates();
  const std::vector<Prediction> before = predicted(rates);
  rates.calibration.add(csr, 1, {.product = 3, .iteration = 2, .assembly = 5, .conversion = 7});
  const std::vector<Prediction> after = predicted(rates);
  REQUIRE(before.size() == 3);
  CHECK(after[0].product == doctest::Approx(3 * before[0].product));
  CHECK(after[0].iteration == doctest::Approx(2 * (before[0].iteration + 2 * before[0].product)));
  CHECK(after[0].assembly == doctest::Approx(5 * before[0].assembly));
  CHECK(after[0].conversion == doctest::Approx(7 * before[0].conversion));
  for (const std::size_t other : {1, 2}) {
    CHECK(after[other].product == before[other].product);
    CHECK(after[other].iteration == before[other].iteration);
  }
}

TEST_CASE("a calibration tells apart what matrix-free stores of its cells") {
  struct Asked final : Model {
    std::optional<double> seconds(const Product& product) const override {
      geometry = correction_key(product).geometry;
      return 1;
    }
    double start(const Product&) const override { return 0; }
    mutable std::string geometry;
  };
  const auto geometry = [](CellShape shape, int degree, const tests::FormOptions& options) {
    const auto small = tests::make_form(shape, degree, {7, 5, 5}, options);
    PredictionInput of;
    of.form = &small.form;
    of.preconditioner = find_preconditioner("jacobi");
    of.iterations = 100;
    of.available = [](Device) { return std::int64_t{1} << 40; };
    const Asked model;
    predict<double>(of, {{"matrix-free", {}, {}}}, nullptr, nullptr, model, round_rates());
    return model.geometry;
  };
  const tests::FormOptions varying{.distort = 0}, boxes{.robin = false, .varying = false, .distort = 0},
      straight{.robin = false, .varying = false};
  for (const CellShape shape : {CellShape::triangle, CellShape::tetrahedron}) {
    CHECK(geometry(shape, 2, varying) == "pairs");
    CHECK(geometry(shape, 3, varying) == "points");
    for (const int degree : {2, 3}) CHECK(geometry(shape, degree, straight) == "affine");
  }
  CHECK(geometry(CellShape::hexahedron, 1, varying) == "pairs");
  CHECK(geometry(CellShape::hexahedron, 1, straight) == "pairs");
  CHECK(geometry(CellShape::hexahedron, 1, boxes) == "boxes");
  CHECK(geometry(CellShape::hexahedron, 2, varying) == "points");
}

TEST_CASE("every operator is calibrated on boxes, as far as there is time") {
  int steps = 0;
  const TrainingSettings settings{.device = Device::host,
                                  .seconds = 0.01,
                                  .precisions = {Precision::double_},
                                  .go_on = [&](const std::string& next) {
                                    CHECK(next.starts_with("calibrating: box "));
                                    return ++steps < 3;
                                  }};
  Rates rates = round_rates();
  CorrectionKey of_single = csr;
  of_single.word_bytes = 4;
  rates.calibration.add(of_single, 1, {.product = 5});
  Calibrated made = calibrate(settings, rates);
  for (int again = 0; made.left_out > 0 && again < 10; ++again) {  // other programs took the processor
    steps = 0;
    made = calibrate(settings, rates);
  }
  CHECK(made.calibration.at(of_single, 1).product == 5);  // from another training
  CHECK(made.boxes == std::min(steps, 2));
  REQUIRE(made.boxes > 0);
  const CorrectionFactors of = made.calibration.at({"lma-gather", CellShape::quadrilateral, 1, 8, "each"}, 4e3);
  CHECK(of.product > 0);
  CHECK(of.product != 1);
  CHECK(of.conversion != 1);
}

// The trained model: benchmark matrices, features of a product, the fit, and the cache file.

#include "solver/prediction/models/trained_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "solver/prediction/models/regression.hpp"
#include "solver/prediction/training/benchmark_matrices.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::solver;
using femcg::tests::contains;
using femcg::tests::shell;
using operators::CsrMatrix;
using operators::Device;

namespace {

std::vector<double> lengths_of(const CsrMatrix<double>& matrix) {
  std::vector<double> lengths;
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    lengths.push_back(static_cast<double>(matrix.row_offsets[row + 1] - matrix.row_offsets[row]));
  return lengths;
}
double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviation_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean_of(values), 2);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

MatrixRecipe recipe_of(RowLengths lengths, double mean, double spread) {
  MatrixRecipe recipe;
  recipe.rows = 20000;
  recipe.lengths = lengths;
  recipe.mean = mean;
  recipe.spread = spread;
  recipe.longest = 5000;
  recipe.window = 0.01;
  recipe.run = 3;
  recipe.seed = 7;
  return recipe;
}

CsrMatrix<double> matrix_with(const std::vector<std::vector<std::int32_t>>& rows) {
  CsrMatrix<double> matrix;
  matrix.rows = static_cast<std::int32_t>(rows.size());
  matrix.row_offsets = operators::Vector<std::int64_t>(matrix.rows + 1);
  matrix.row_offsets[0] = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    matrix.row_offsets[row + 1] = matrix.row_offsets[row] + std::ssize(rows[static_cast<std::size_t>(row)]);
  matrix.columns = operators::Vector<std::int32_t>(matrix.nonzeros());
  std::int64_t k = 0;
  for (const auto& row : rows)
    for (const std::int32_t column : row) matrix.columns[k++] = column;
  return matrix;
}

ProductFeatures features_with(const CsrMatrix<double>& matrix, const RowSteps& by) {
  const operators::StorageEstimate estimate;
  Product product;
  product.estimate = &estimate;
  product.row_offsets = matrix.row_offsets.span();
  product.columns = matrix.columns.span();
  return features_of(product, by);
}

/// Products whose seconds are a sum of terms, as on a machine without caches.
std::vector<TrainingPoint> made_up_points(int count) {
  std::vector<TrainingPoint> points;
  for (int i = 0; i < count; ++i) {
    ProductFeatures f;
    f.rows = 1000 * std::pow(1.3, i % 20);
    f.nonzeros = f.rows * (5 + 7 * (i % 11));
    f.moved_bytes = 12 * f.nonzeros + 20 * f.rows;
    f.working_bytes = f.moved_bytes;
    f.input_bytes = 8 * f.rows;
    f.steps = f.nonzeros / 32 * (1 + 0.1 * (i % 3));
    f.longest_steps = 3 * f.nonzeros / f.rows;
    f.lines = f.nonzeros / (1 + i % 4);
    points.push_back({f, 5e-6 + 3e-13 * f.moved_bytes + 1e-12 * f.lines});
  }
  return points;
}

}  // namespace

TEST_CASE("rows of benchmark matrices are as long as their recipe says") {
  const auto lengths = [](RowLengths kind, double mean, double spread) {
    return lengths_of(generate(recipe_of(kind, mean, spread)));
  };
  const std::vector<double> constant = lengths(RowLengths::constant, 17, 0);
  CHECK(deviation_of(constant) == 0);
  CHECK(mean_of(constant) == 17);
  const std::vector<double> uniform = lengths(RowLengths::uniform, 40, 0.5);  // 20 to 60: (60 - 20) / sqrt(12)
  CHECK(mean_of(uniform) == doctest::Approx(40).epsilon(0.01));
  CHECK(deviation_of(uniform) == doctest::Approx(40 / std::sqrt(12.0)).epsilon(0.02));
  const std::vector<double> normal = lengths(RowLengths::normal, 50, 0.2);
  CHECK(mean_of(normal) == doctest::Approx(50).epsilon(0.01));
  CHECK(deviation_of(normal) == doctest::Approx(10).epsilon(0.03));
  const auto within = std::ranges::count_if(normal, [](double length) { return std::abs(length - 50) <= 10; });
  CHECK(static_cast<double>(within) / 20000 == doctest::Approx(0.70).epsilon(0.03));  // normal distribution, rounded
  const std::vector<double> power = lengths(RowLengths::power_law, 10, 0.4);
  CHECK(mean_of(power) == doctest::Approx(10).epsilon(0.1));
  CHECK(std::ranges::max(power) > 100);
  const std::vector<double> few = lengths(RowLengths::long_rows, 10, 0.2);
  CHECK(std::ranges::count(few, 5000.0) == 16);
}

TEST_CASE("columns of benchmark matrices ascend within their window, in runs, the same every time") {
  const MatrixRecipe recipe = recipe_of(RowLengths::uniform, 12, 0.5);
  const CsrMatrix<double> matrix = generate(recipe), again = generate(recipe);
  CHECK(std::ranges::equal(matrix.columns.span(), again.columns.span()));
  CHECK(std::ranges::equal(matrix.values.span(), again.values.span()));
  bool ascend = true, inside = true;
  std::int64_t neighbours = 0;
  for (std::int32_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
      const std::int32_t column = matrix.columns[k];
      inside = inside && column >= 0 && column < matrix.rows && std::abs(column - row) <= 200;  // 0.01 of 20000
      if (k == matrix.row_offsets[row]) continue;
      ascend = ascend && matrix.columns[k - 1] < column;
      neighbours += matrix.columns[k - 1] + 1 == column ? 1 : 0;
    }
  CHECK(ascend);
  CHECK(inside);
  CHECK(static_cast<double>(neighbours) > 0.55 * static_cast<double>(matrix.nonzeros()));  // two of three, in runs of 3
}

TEST_CASE("no matrix of the evaluation is one of those trained on, and there are enough of both") {
  std::set<std::uint64_t> seeds;
  for (int number = 0; number < 400; ++number) {
    const MatrixRecipe recipe = training_recipe(number, 150e6);
    CHECK(recipe.rows >= 64);
    CHECK(12 * recipe.mean * recipe.rows < 300e6);
    seeds.insert(recipe.seed);
  }
  CHECK(seeds.size() == 400);
  const auto evaluated = evaluation_recipes(150e6);
  CHECK(evaluated.size() >= 24);
  for (const MatrixRecipe& recipe : evaluated) CHECK_FALSE(seeds.contains(recipe.seed));
}

TEST_CASE("steps and lines are those of the threads") {
  // Rows of 3, 1, 2 and 5 entries; a line of 64 bytes has 8 doubles, one of 32 has 4.
  const CsrMatrix<double> matrix = matrix_with({{0, 1, 2}, {8}, {3, 9}, {0, 4, 8, 12, 16}});
  const ProductFeatures by_row = features_with(matrix, {1, 8, false, false, 64});
  CHECK(by_row.nonzeros == 11);
  CHECK(by_row.steps == 4);
  CHECK(by_row.longest_steps == 1);
  CHECK(by_row.lines == 1 + 1 + 2 + 3);
  const ProductFeatures pairs = features_with(matrix, {2, 1, false, false, 32});
  CHECK(pairs.steps == 3 + 5);
  CHECK(pairs.longest_steps == 5);
  // First pair: 0 8, 1, 2; second pair: 3 0, 9 4, 8, 12, 16.
  CHECK(pairs.lines == 2 + 1 + 1 + 1 + 2 + 1 + 1 + 1);
  const ProductFeatures sorted = features_with(matrix, {2, 1, true, false, 32});
  CHECK(sorted.steps == 5 + 2);  // 5 and 3, 2 and 1
  const ProductFeatures padded = features_with(matrix, {2, 1, false, true, 32});
  CHECK(padded.steps == 5 + 5);
  const CsrMatrix<double> lengths = matrix_with({{0}, {0}, {0}, {0}, {0, 1}, {0}, {0, 1}, {0, 1, 2}});
  CHECK(features_with(lengths, {}).irregular == 2);  // the first two, and the row of three
}

TEST_CASE("coefficients that are not negative are found, and no others") {
  // 2 a + 3 b, and a column that would help only with a negative coefficient.
  const solver::Rows a{{1, 1, 1}, {2, 1, 2}, {1, 3, 1}, {4, 1, 9}, {3, 5, 2}};
  std::vector<double> b;
  for (const auto& row : a) b.push_back(2 * row[0] + 3 * row[1]);
  const std::vector<double> exact = nonnegative_least_squares(a, b);
  CHECK(exact[0] == doctest::Approx(2).epsilon(1e-3));
  CHECK(exact[1] == doctest::Approx(3).epsilon(1e-3));
  CHECK(exact[2] == doctest::Approx(0).scale(1).epsilon(1e-3));
  for (std::size_t i = 0; i < a.size(); ++i) b[i] -= 0.5 * a[i][2];
  for (const double c : nonnegative_least_squares(a, b)) CHECK(c >= 0);
}

TEST_CASE("Kriging goes through smooth values, and back to their mean far away") {
  solver::Rows points;
  std::vector<double> values;
  const auto f = [](double x, double y) { return std::sin(x) + 0.1 * y; };
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      points.push_back({0.7 * i, 0.9 * j});
      values.push_back(f(0.7 * i, 0.9 * j));
    }
  std::vector<double> errors;
  const Kriging fitted = fit_kriging(points, values, &errors);
  CHECK(fitted.at({2.4, 3.1}) == doctest::Approx(f(2.4, 3.1)).epsilon(0.03));
  CHECK(fitted.at({1e6, 1e6}) == doctest::Approx(mean_of(values)));
  // Prediction of a value from the others; for one of them computed explicitly.
  CHECK(errors.size() == 64);
  for (const double error : errors) CHECK(std::abs(error) < 0.2);
}

TEST_CASE("a model predicts what it was not trained on, and comes back from its file") {
  std::vector<TrainingPoint> points = made_up_points(90), left_out;
  for (std::size_t i = 80; i < 90; ++i) left_out.push_back(points[i]);
  points.resize(80);
  TrainedModel model(Device::host, 8);
  model.add({"csr", {}, {}}, points);
  const TrainedTimes& times = model.operators().front();
  CHECK(times.left_out_error < 0.02);
  for (const TrainingPoint& point : left_out)
    CHECK(times.seconds(point.features, Device::host, 8) == doctest::Approx(point.seconds).epsilon(0.05));
  const TrainedModel read = TrainedModel::from_json(model.to_json(), Device::host, 8);
  const std::vector<TrainingPoint>& kept = read.operators().front().points;
  REQUIRE(kept.size() == times.points.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].features == times.points[i].features);
    CHECK(kept[i].seconds == times.points[i].seconds);
  }
  for (const TrainingPoint& point : left_out)
    CHECK(read.operators().front().seconds(point.features, Device::host, 8) ==
          doctest::Approx(times.seconds(point.features, Device::host, 8)).epsilon(1e-12));
  for (const auto& [pointer, value] : std::initializer_list<std::pair<const char*, nlohmann::ordered_json>>{
           {"/0/name", "sell"},
           {"/0/options", {{"coop", "many"}}},
           {"/0/coefficients", {1, 2}},
           {"/0/coefficients/0", -1},
           {"/0/lengths/0", 0},
           {"/0/weights", nlohmann::ordered_json::array()},
           {"/0/points/0/0", "much"}}) {
    CAPTURE(pointer);
    nlohmann::ordered_json damaged = model.to_json();
    damaged[nlohmann::ordered_json::json_pointer(pointer)] = value;
    CHECK_THROWS(TrainedModel::from_json(damaged, Device::host, 8));
  }
}

TEST_CASE("a model that is trained is shown beside the bandwidth model, and one that cannot be used is ignored") {
  const std::string begin =
      "export XDG_CACHE_HOME=$PWD/cache OMP_NUM_THREADS=1; kept=cache/femcg/trained_models.json\n"
      "train='$femcg predict --train --device cpu --training-seconds 0.1 --precision double'\n"
      "show=\"$femcg predict $cases/minimal.yaml --device cpu\"\n";
  const tests::Result used = shell(
      begin +
      "$femcg info; for attempt in 1 2 3 4 5; do eval $train 2> left_out; grep -q 'took the processor' left_out || "
      "break; done; $femcg info; $show --measure; $show --operator sell");
  CAPTURE(used.err);
  CHECK(contains(used.out, "cpu model       not calibrated: femcg predict --train\n"));
  CHECK(contains(used.out, "cpu model       calibrated with every operator\n"));
  CHECK(contains(used.out, ": the bandwidth model was calibrated with every operator on "));
  CHECK(contains(used.out, "double precision: trained on 16 matrices; each, predicted by the others, is off by\n"));
  CHECK(contains(used.out, "  product            trained bandwidth  measured trained bandwidth\n  csr   "));
  CHECK(contains(used.out, "  mean difference rate: "));
  CHECK(used.out.rfind("trained bandwidth") < used.out.rfind("  sell "));  // nothing of it for sell alone
  const tests::Result others = shell(begin + R"(eval $train > made
sed -i 's/"femcg [^,]*, [^,]*,/"femcg 0.0, another one,/g' $kept; $show > shown; echo '{"a' > $kept; $show >> shown
rm $kept; mkdir $kept; $show >> shown; rmdir $kept; $show >> shown; grep -c '^  auto: ' shown
XDG_CACHE_HOME=relative HOME= eval $train >> made; XDG_CACHE_HOME=/dev/null eval $train >> made; ls relative)");
  CHECK(contains(others.out, "4\n"));
  CHECK(contains(others.err,
                 "note: the stored trained model is ignored, since it was made for another setting (femcg 0.0, another "
                 "one, 1 threads, double "
                 "precision); femcg predict --train makes one for this one (femcg "));
  CHECK(contains(others.err,
                 "note: the stored calibration is ignored, since it was made for another setting (femcg 0.0, another "
                 "one, 1 threads, registers "
                 "of "));
  CHECK(contains(others.err, "note: the trained model in '"));
  CHECK(contains(others.err, "is ignored: it is damaged; femcg predict --train makes a new one\n"));
  CHECK(contains(others.err, "note: the trained model is not stored: there is no home folder\n"));
  CHECK(contains(others.err,
                 "note: the trained model is not stored: '/dev/null/femcg/trained_models.json' cannot be written\n"));
}

TEST_CASE("what does not go with training or evaluating is refused") {
  const auto says = [](const std::string& arguments) { return tests::program_run("predict " + arguments).err; };
  CHECK(contains(says("--train --training-seconds soon"),
                 "--training-seconds must be a number from 0 to 3600, not 'soon'"));
  CHECK(contains(says("a.yaml --training-seconds 3"), "--training-seconds goes with --train"));
  CHECK(contains(says("a.mtx b.mtx"), "one argument too many: 'b.mtx'"));
  const tests::Result untrained =
      shell("export XDG_CACHE_HOME=$PWD/cache; $femcg predict --evaluate x.json --device cpu; ls");
  CHECK(contains(untrained.err, "there is no trained model to evaluate; femcg predict --train makes one\n"));
  CHECK_FALSE(contains(untrained.out, "x.json"));
  CHECK(contains(says("--evaluate x.json --operator csr"), "--evaluate takes no --set"));
}

// Comparisons: expansion of sweeps, detection of products that disagree, contents of the files.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mesh/box/box.hpp"
#include "solver/benchmark/agreement.hpp"
#include "solver/benchmark/comparison.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/error.hpp"
#include "solver/problem/make_mesh.hpp"
#include "solver/report/comparison_report.hpp"
#include "tests/forms.hpp"
#include "tests/problems.hpp"
#include "tests/rounding.hpp"

using namespace femcg;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// Temporary directory, removed by the destructor.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("femcg_test_compare_" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return path / name;
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(path / name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  fs::path path;
};

constexpr const char* square = R"(mesh: {box: {cells: [12, 10]}}
degree: 2
equation: {source: 1}
boundary: {all: {value: 0}}
solver: {preconditioner: none}
)";

std::string message(const fs::path& file) {
  try {
    for (const solver::SweepPoint& point : solver::expand_sweep(file, {}))
      solver::expand_operators(point.resolved.compare);
  } catch (const solver::InputError& error) {
    return error.what();
  }
  return "";
}

solver::ComparisonSettings settings(int iterations, int repetitions) {
  return {solver::Precision::double_, iterations, repetitions, {1}, [](double, const std::string&) { return true; }};
}

std::vector<solver::BenchmarkEntry> entries(const std::vector<std::string>& names) {
  std::vector<solver::BenchmarkEntry> all;
  for (const std::string& name : names) all.push_back({{name, {}, ""}, operators::Device::host, {}, ""});
  return all;
}

int status_of(const std::string& command) {
  const int raw = std::system(command.c_str());
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 1000;
}

}  // namespace

TEST_CASE("a sweep is every combination, what needs the same mesh in a row") {
  const Folder folder;
  const fs::path file = folder.write("sweep.yaml", std::string(square) + R"(compare:
  operators: [csr, sell]
  sweep: {solver.precision: [single, double], degree: [1, 3], C: [4, 8], sigma: [1, 64]}
)");
  const auto points = solver::expand_sweep(file, {});
  REQUIRE(points.size() == 4);
  const auto degree = [&](int i) { return points[i].resolved.degree; };
  CHECK(degree(0) == 1);
  CHECK(degree(1) == 1);
  CHECK(degree(2) == 3);
  CHECK(points[0].resolved.solver.precision == solver::Precision::single);
  CHECK(points[1].resolved.solver.precision == solver::Precision::double_);
  CHECK(points[3].values.at("degree") == "3");
  CHECK(points[3].values.at("precision") == "double");
  CHECK(points[3].resolved.problem.quadrature == 4);  // the default follows the degree

  const auto swept = solver::expand_operators(points[0].resolved.compare);
  REQUIRE(swept.size() == 5);  // csr has neither C nor sigma
  CHECK(swept[0].op.name == "csr");
  CHECK(swept[0].values.empty());
  CHECK(swept[4].op.options.at("C") == "8");
  CHECK(swept[4].op.options.at("sigma") == "64");
  CHECK(solver::to_yaml(points[0].resolved).find("sweep") != std::string::npos);
}

TEST_CASE("a box by its dofs keeps them over the degrees") {
  const Folder folder;
  const fs::path file = folder.write("dofs.yaml", R"(mesh: {box: {dofs: 250000}}
compare: {sweep: {degree: [1, 2, 3, 4]}}
)");
  for (const solver::SweepPoint& point : solver::expand_sweep(file, {})) {
    const auto& box = std::get<mesh::BoxOptions>(point.resolved.mesh.source);
    const double dofs = std::pow(box.cells[0] * point.resolved.degree + 1.0, 2);
    CHECK(dofs == doctest::Approx(250000).epsilon(0.02));
  }
  const std::string printed = solver::to_yaml(solver::read_case(file));
  CHECK(printed.find("dofs: 250000  # cells: [499, 499]") != std::string::npos);
  CHECK(solver::to_yaml(solver::read_case(folder.write("printed.yaml", printed))).substr(printed.find('\n')) ==
        printed.substr(printed.find('\n')));
  CHECK(message(folder.write("both.yaml", "mesh: {box: {dofs: 9, cells: [2, 2]}}")).find("both cells and dofs") !=
        std::string::npos);
}

TEST_CASE("a sweep that means nothing is one sentence with its place") {
  const Folder folder;
  const auto complaint = [&](const std::string& compare) {
    const fs::path file = folder.write("bad.yaml", square + compare);
    return message(file).substr(file.string().size());
  };
  CHECK(complaint("compare: {sweep: {degre: [1]}}") ==
        ":6:19: 'degre' is neither a key of the case nor an option of a chosen operator; did you mean 'degree'?");
  CHECK(complaint("compare: {sweep: {degree: [1, 7]}}").find("degree must be a whole number from 1 to 4, not '7'") !=
        std::string::npos);
  CHECK(complaint("compare: {operators: [sell], sweep: {C: [0]}}").find("option 'C' of operator 'sell' must be") !=
        std::string::npos);
  CHECK(complaint("compare: {operators: [csr], sweep: {C: [4]}}").find("neither") != std::string::npos);
  CHECK(complaint("compare: {sweep: {degree: 3}}").find("compare.sweep.degree must be a list of values") !=
        std::string::npos);
  CHECK(complaint("compare: {sweep: {solver.device: [cpu]}}").find("cannot be swept") != std::string::npos);
  CHECK(complaint("compare: {devices: [gpu]}").find("must be auto, cpu, cuda, or a GPU by its number such as cuda:1") !=
        std::string::npos);
}

TEST_CASE("every operator agrees with the reference on curved hexahedra with varying diffusion, in both precisions") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::hexahedron, 3, {3, 2, 2}, {.curved = true});
  solver::Record common;
  common.problem.unknowns = small.form.unknowns;
  const std::vector<double> load(static_cast<std::size_t>(small.form.unknowns), 1.0);
  const solver::System system{&small.form, nullptr, load, {"jacobi", {}, {}}, nullptr};
  for (const solver::Precision precision : {solver::Precision::double_, solver::Precision::single}) {
    std::vector<std::string> names;
    for (const operators::OperatorDescription& row : operators::catalogue())
      if (row.host()) names.emplace_back(row.name);
    solver::ComparisonSettings chosen = settings(5, 2);
    chosen.precision = precision;
    const auto rows = solver::compare_operators(system, entries(names), chosen, common);
    for (const solver::BenchmarkResult& row : rows) {
      INFO(row.record.op.name, ": ", row.reason);
      CHECK(row.outcome == solver::Outcome::timed);
      CHECK(row.record.apply.count() == 2);
      CHECK(row.iteration.count() == 2);
      REQUIRE(row.agreement);
      REQUIRE(row.agreement_bound);
      CHECK(*row.agreement <= *row.agreement_bound);
      CHECK(row.iteration_bytes ==
            row.record.footprint.moved_bytes +
                (8 * (precision == solver::Precision::double_ ? 8 : 4) + 2 * 4) * common.problem.unknowns);
    }
  }
}

TEST_CASE("several right-hand sides: every operator agrees in every column, and its bytes are those of its parts") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::tetrahedron, 2, {4, 3, 2}, {.curved = true});
  const std::int64_t n = small.form.unknowns;
  solver::Record common;
  common.problem.unknowns = small.form.unknowns;
  const std::vector<double> load(static_cast<std::size_t>(n), 1.0);
  for (const solver::Precision precision : {solver::Precision::double_, solver::Precision::single})
    for (const std::string preconditioner : {"jacobi", "chebyshev"}) {
      std::vector<std::string> names;
      for (const operators::OperatorDescription& row : operators::catalogue())
        if (row.host()) names.emplace_back(row.name);
      solver::ComparisonSettings chosen = settings(5, 2);
      chosen.precision = precision;
      chosen.right_hand_sides = {1, 3, 8};
      const auto rows = solver::compare_operators({&small.form, nullptr, load, {preconditioner, {}, {}}, nullptr},
                                                  entries(names), chosen, common);
      REQUIRE(rows.size() == 3 * names.size());
      const std::int64_t word = precision == solver::Precision::double_ ? 8 : 4, single = 4;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const solver::BenchmarkResult &row = rows[i], &one = rows[i - i % 3];
        const int k = row.right_hand_sides;
        INFO(row.record.op.name, ", ", k, " right-hand sides: ", row.reason);
        CHECK(k == std::array{1, 3, 8}[i % 3]);
        CHECK(row.record.op.name == one.record.op.name);
        CHECK(row.outcome == solver::Outcome::timed);
        REQUIRE(row.agreement);
        CHECK(*row.agreement <= *row.agreement_bound);
        CHECK(row.iteration.count() == 2);
        CHECK(row.record.solve.method == (k > 1 ? solver::CgMethod::batched : solver::CgMethod::classic));
        CHECK(row.record.solve.iterations == 5 * k);
        const operators::Footprint &all = row.record.footprint, &alone = one.record.footprint;
        CHECK(all.stored_bytes == alone.stored_bytes);
        CHECK(all.flops == k * alone.flops);
        CHECK(all.moved_bytes == alone.moved_bytes + (k - 1) * 2 * n * word);
        // Vectors read or written per iteration. Jacobi: update 3, direction 5, and the diagonal twice, in single
        // precision, once for all columns. Chebyshev of degree 4: four products; update 3, direction 5, r'z 2, first
        // step 3, three further steps 18, and the diagonal in each step.
        CHECK(row.iteration_bytes == (preconditioner == "jacobi"
                                          ? all.moved_bytes + 8 * k * n * word + 2 * n * single
                                          : 4 * all.moved_bytes + 31 * k * n * word + 4 * n * single));
        CHECK(row.product_gain.has_value() == (k > 1));
        if (k == 1) continue;
        CHECK(*row.product_gain == doctest::Approx(k * one.record.apply.median() / row.record.apply.median()));
        CHECK(*row.iteration_gain == doctest::Approx(row.rate() / one.rate()));
      }
      // Block CG: S'Q 2, update 3, then 6; with Chebyshev also W'Z 2, Z 1 and the steps of the polynomial.
      const auto block = solver::compare_operators(
          {&small.form, nullptr, load, {preconditioner, {}, {}}, nullptr, solver::CgMethod::block}, entries({"csr"}),
          chosen, common);
      CHECK(block[0].record.solve.method == solver::CgMethod::classic);
      CHECK(block[2].outcome == solver::Outcome::timed);
      CHECK(block[2].record.solve.method == solver::CgMethod::block);
      const std::int64_t moved = block[2].record.footprint.moved_bytes;
      CHECK(block[2].iteration_bytes == (preconditioner == "jacobi" ? moved + 11 * 8 * n * word + 2 * n * single
                                                                    : 4 * moved + 35 * 8 * n * word + 4 * n * single));
      const ordered_json json = solver::to_json(rows, nullptr);
      CHECK(json[2]["comparison"]["right_hand_sides"] == 8);
      CHECK(json[2]["solve"]["iterations_per_second"].get<double>() == doctest::Approx(rows[2].rate()));
      CHECK(json[2]["comparison"]["product_gain"] == *rows[2].product_gain);
      CHECK_FALSE(json[0]["comparison"].contains("product_gain"));
    }
}

/// Operator whose products with one vector are right, and whose products with several vectors have columns in wrong
/// order.
class WrongColumns : public operators::Operator<double> {
 public:
  explicit WrongColumns(std::unique_ptr<operators::Operator<double>> right)
      : Operator(right->size(), right->device()), right_(std::move(right)) {}
  void diagonal(operators::Vector<double>& d) const override { right_->diagonal(d); }
  operators::Footprint footprint() const override { return right_->footprint(); }

 private:
  void multiply(const operators::Vector<double>& x, operators::Vector<double>& y,
                operators::Scalar* energy) const override {
    right_->apply(x, y, energy);
  }
  void multiply_multi_vector(const operators::MultiVector<double>& x, operators::MultiVector<double>& y,
                             double* energies) const override {
    operators::MultiScalar sums(energies, x.stride(), x.device());
    right_->apply(x, y, energies != nullptr ? &sums : nullptr);
    const std::int64_t last = (x.rows() - 1) * x.stride();
    std::swap(y.data()[last], y.data()[last + 1]);
  }

  std::unique_ptr<operators::Operator<double>> right_;
};

TEST_CASE("two entries of the last row in each other's columns are found") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::quadrilateral, 2, {5, 4, 0});
  const auto reference = solver::reference_product(small.form, solver::pseudo_random(small.form.unknowns));
  operators::Ingredients<double> from;
  from.matrix = std::make_shared<operators::CsrMatrix<double>>(
      operators::assemble<double>(small.form, operators::assemble_element_matrices(small.form)));
  const WrongColumns wrong(operators::find_operator("csr")->make<double>(from, {}));
  const double unit_roundoff = tests::unit_roundoff<double>;
  CHECK(solver::agreement(wrong, reference, unit_roundoff).holds());
  CHECK_FALSE(solver::agreement(wrong, reference, unit_roundoff, 2).holds());
  CHECK_FALSE(solver::agreement(wrong, reference, unit_roundoff, 5).holds());
}

TEST_CASE("the least that an iteration moves has the products and passes of its preconditioner") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::quadrilateral, 2, {9, 7, 0});
  solver::Record common;
  common.problem.unknowns = small.form.unknowns;
  const std::vector<double> load(static_cast<std::size_t>(small.form.unknowns), 1.0);
  const solver::System system{&small.form, nullptr, load, {"chebyshev", {{"degree", "3"}}, {}}, nullptr};
  for (const solver::BenchmarkResult& row :
       solver::compare_operators(system, entries({"csr", "matrix-free", "eigen"}), settings(5, 2), common)) {
    INFO(row.record.op.name, ": ", row.reason);
    CHECK(row.outcome == solver::Outcome::timed);
    // Three products; update 3, direction 5, r'z 2, first step 3, two further steps 12, and the diagonal in each step.
    CHECK(row.iteration_bytes == 3 * row.record.footprint.moved_bytes + (25 * 8 + 3 * 4) * common.problem.unknowns);
    const ordered_json solve = solver::to_json({row}, nullptr).at(0).at("solve");
    CHECK(solve["preconditioner"] == "chebyshev");
    CHECK(solve["preconditioner_options"] == ordered_json{{"degree", 3}});
    CHECK(solve["preconditioner_chosen"]["largest_eigenvalue"] > 1);
  }
}

TEST_CASE("a sweep over preconditioners takes names and maps, as the case does") {
  const Folder folder;
  const std::string sweep =
      "compare: {operators: [csr], sweep: {preconditioner: [jacobi, chebyshev, {name: chebyshev, degree: 2}]}}\n";
  const auto points = solver::expand_sweep(folder.write("names.yaml", std::string(square) + sweep), {});
  REQUIRE(points.size() == 3);
  CHECK(points[0].resolved.solver.preconditioner.name == "jacobi");
  CHECK(points[1].resolved.solver.preconditioner.options.empty());
  CHECK(points[2].resolved.solver.preconditioner.options.at("degree") == "2");
  CHECK(solver::to_yaml(points[2].resolved).find("preconditioner: {name: chebyshev, degree: 2}") != std::string::npos);
  const std::string options =
      "compare: {operators: [csr], sweep: {solver.preconditioner: [{name: chebyshev, ratio: 10}]}}\n";
  CHECK(solver::expand_sweep(folder.write("options.yaml", std::string(square) + options), {})[0]
            .resolved.solver.preconditioner.options.at("ratio") == "10");
}

TEST_CASE_TEMPLATE("what rounding explains is little: one entry that is off by a small part of it is found", T, double,
                   float) {
  constexpr double small_part = sizeof(T) == 8 ? 1e-7 : 0.25;
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const tests::SmallForm small = tests::make_form(shape, degree, {5, 4, 3});
      const auto reference = solver::reference_product(small.form, solver::pseudo_random(small.form.unknowns));
      for (std::size_t i = 0; i < reference.y.size(); ++i)
        CHECK(reference.rounding.terms[i] >= std::abs(reference.y[i]));
      const auto matrix = std::make_shared<operators::CsrMatrix<T>>(
          operators::assemble<T>(small.form, operators::assemble_element_matrices(small.form)));
      operators::Ingredients<T> from;
      from.matrix = matrix;
      const auto csr = operators::find_operator("csr")->make<T>(from, {});  // refers to the matrix
      const double unit_roundoff = static_cast<double>(tests::unit_roundoff<T>);
      CHECK(solver::agreement(*csr, reference, unit_roundoff).holds());
      // Row with the greatest |x|, where a wrong diagonal entry has the greatest effect.
      const std::vector<double> x = solver::pseudo_random(small.form.unknowns);
      const auto row = static_cast<std::int32_t>(
          std::ranges::max_element(x, {}, [](double entry) { return std::abs(entry); }) - x.begin());
      for (std::int64_t k = matrix->row_offsets[row]; k < matrix->row_offsets[row + 1]; ++k)
        if (matrix->columns[k] == row) matrix->values[k] *= static_cast<T>(1 + small_part);
      CHECK_FALSE(solver::agreement(*csr, reference, unit_roundoff).holds());
    }
}

TEST_CASE("rows say of each other what conversion costs and saves") {
  const Folder folder;
  const tests::SmallForm small = tests::make_form(mesh::CellShape::quadrilateral, 4, {20, 20, 0});
  solver::Record common;
  common.problem.unknowns = small.form.unknowns;
  const std::vector<double> load(static_cast<std::size_t>(small.form.unknowns), 1.0);
  const auto rows =
      solver::compare_operators({&small.form, nullptr, load, {"none", {}, {}}, nullptr},
                                entries({"csr", "ellpack", "sell", "matrix-free"}), settings(10, 3), common);
  const solver::BenchmarkResult &csr = rows[0], &ellpack = rows[1], &sell = rows[2], &matrix_free = rows[3];
  CHECK(!csr.break_even);
  CHECK(!matrix_free.break_even);
  CHECK(*ellpack.data_reduction == 0);
  CHECK(*sell.data_reduction == doctest::Approx(1 - static_cast<double>(sell.record.footprint.stored_bytes) /
                                                        static_cast<double>(ellpack.record.footprint.stored_bytes)));
  CHECK(*sell.data_reduction > 0.3);  // ellpack pads Q4 in 2D to 2.25 times the entries
  const double gain = csr.iteration.median() - sell.iteration.median();
  CHECK(sell.break_even.has_value() == (gain > 0));
  if (gain > 0) CHECK(*sell.break_even == std::ceil(sell.record.seconds.conversion / gain));
  CHECK(csr.matrix->longest_row == 81);
  std::int64_t counted = 0;
  for (const auto& [length, count] : csr.matrix->rows_of_length) counted += count;
  CHECK(counted == small.form.unknowns);
  CHECK(csr.caching_bytes >= csr.record.footprint.moved_bytes);
  CHECK(csr.caching_bytes <= csr.record.footprint.effective_bytes + 8 * small.form.unknowns);

  const ordered_json json = solver::to_json(rows, nullptr);
  REQUIRE(json.size() == 4);
  CHECK(json[2]["operator"]["name"] == "sell");
  CHECK(json[2]["solve"]["iterations_per_second"].get<double>() == doctest::Approx(1 / sell.iteration.median()));
  CHECK(json[0]["comparison"]["roof_iterations_per_second"].get<double>() ==
        doctest::Approx(csr.record.machine.copy_bandwidth / static_cast<double>(csr.iteration_bytes)));
  const std::string csv = solver::to_csv(json);
  CHECK(std::ranges::count(csv, '\n') == 5);
  CHECK(csv.starts_with("case,matrix,cell,degree,"));

  // Against the same times nothing is changed; against twice and half the times everything is.
  const auto verdicts = [&](double factor) {
    ordered_json other = json;
    for (ordered_json& record : other)
      for (const char* key : {"iterations_per_second_minimum", "iterations_per_second_maximum"}) {
        record["comparison"][key] = record["comparison"][key].get<double>() * factor;
        record["solve"]["iterations_per_second"] = record["solve"]["iterations_per_second"].get<double>() * factor;
      }
    return solver::Baseline(folder.write("old.json", other.dump())).change(sell)->verdict;
  };
  CHECK(verdicts(1) == solver::Verdict::same);
  CHECK(verdicts(1e-3) == solver::Verdict::faster);
  CHECK(verdicts(1e3) == solver::Verdict::slower);
  CHECK_THROWS_AS(solver::Baseline(folder.write("no.json", "{\"a\": 1}")), solver::InputError);
  CHECK_THROWS_AS(solver::Baseline(folder.path / "absent.json"), solver::InputError);
}

TEST_CASE("no line of a table is wider than 100 columns, whatever the numbers") {
  const auto widest = [](const std::string& text) {
    std::size_t width = 0, longest = 0;
    for (const char c : text) longest = std::max(longest, width = c == '\n' ? 0 : width + 1);
    return longest;
  };
  for (const double scale : {1e-9, 1e-6, 1e-3, 1.0, 777.7, 1e5}) {
    solver::BenchmarkResult row;
    row.outcome = solver::Outcome::timed;
    row.record.op = {"csr", {}, ""};
    row.record.problem.unknowns = 2147483647;
    row.record.machine.copy_bandwidth = 1e12;
    row.record.footprint.stored_bytes = static_cast<std::int64_t>(9.99e9 * scale) + 1;
    row.record.footprint.moved_bytes = 123456789012345;
    row.record.footprint.padding_ratio = 1 + scale;
    row.record.seconds.conversion = 99.99 * scale;
    row.iteration_bytes = 1;
    row.break_even = 12345.6 * scale;
    row.iteration.add(1.23456e-9 * scale);
    row.iteration.add(9.87654 * scale);
    row.record.apply.add(3.33333 * scale);
    const std::string narrow = solver::table({row});
    CHECK(widest(narrow) <= 100);
    row.record.op.options = {{"first", std::string(70, 'x')}, {"second", std::string(120, 'y')}};
    solver::BenchmarkResult failed = row;
    failed.outcome = solver::Outcome::failed;
    failed.reason = "a sentence whose words go on and on " + std::string(250, 'z') + " until the very end";
    CHECK(widest(solver::table({row, failed})) <= 100);
  }
}

TEST_CASE("a space with too many dofs is told with the place of the mesh") {
  mesh::Mesh mesh;
  mesh.shape = mesh::CellShape::hexahedron;
  mesh.cell_regions.assign(40'000'000, 0);
  solver::Case resolved;
  resolved.degree = 4;
  resolved.mesh.place = "cube.yaml:2:1";
  CHECK_THROWS_WITH_AS(solver::make_space(mesh, resolved.degree, resolved.mesh.place),
                       doctest::Contains("cube.yaml:2:1: 40000000 cells of degree 4 have 2"), solver::InputError);
}

TEST_CASE("operators are timed in turn, and one that fails does not stop the others") {
  const tests::SmallForm small = tests::make_form(mesh::CellShape::quadrilateral, 1, {4, 4, 0});
  solver::Record common;
  const std::vector<double> load(static_cast<std::size_t>(small.form.unknowns), 1.0);
  std::vector<std::string> steps;
  solver::ComparisonSettings chosen = settings(3, 2);
  chosen.go_on = [&](double done, const std::string& next) {
    CHECK(done >= 0);
    CHECK(done <= 1);
    steps.push_back(next);
    return steps.size() < 8;  // interrupts the second repetition
  };
  auto who = entries({"csr", "sell", "eigen"});
  who[1].not_applicable = "it was told to stay away";
  const auto rows =
      solver::compare_operators({&small.form, nullptr, load, {"none", {}, {}}, nullptr}, who, chosen, common);
  CHECK(rows[0].outcome == solver::Outcome::timed);
  CHECK(rows[0].record.apply.count() == 2);
  CHECK(rows[1].outcome == solver::Outcome::not_applicable);
  CHECK(rows[1].reason == "it was told to stay away");
  const auto csr_first = std::ranges::find(steps, "timing eigen, repetition 1 of 2");
  CHECK(csr_first != steps.end());
}

TEST_CASE("wrong operators are caught, not timed, and the exit status is 1") {
  const Folder folder;
  folder.write("case.yaml", square);
  const std::string in_folder = "cd '" + folder.path.string() + "' && ";
  const std::string quick = " --iterations 3 --repetitions 2 --output out > out.txt 2> err.txt";
  CHECK(status_of(in_folder + FEMCG_WRONG_PROGRAM + " compare case.yaml --operators all" + quick) == 1);
  const ordered_json json = ordered_json::parse(folder.read("out/compare.json"));
  for (const ordered_json& record : json) {
    const std::string name = record["operator"]["name"], status = record["comparison"]["status"];
    INFO(name, ": ", record["comparison"]["reason"].get<std::string>());
    if (name == "wrong-throws") {
      CHECK(status == "failed");
      CHECK(record["comparison"]["reason"] == "this operator cannot be made");
    } else if (name.starts_with("wrong")) {
      CHECK(status == "disagrees");
    } else {
      CHECK(status == "timed");
    }
    CHECK((record["solve"]["iterations_per_second"] > 0) == (status == "timed"));
    CHECK((record["apply"]["median_seconds"] > 0) == (status == "timed"));
  }
  CHECK(folder.read("out.txt").find("wrong-value       disagrees: ") != std::string::npos);

  CHECK(status_of(in_folder + FEMCG_WRONG_PROGRAM + " compare case.yaml --operators csr,eigen" + quick) == 0);
  CHECK(status_of(in_folder + FEMCG_WRONG_PROGRAM + " compare case.yaml --operators csr,wrong-throws" + quick) == 0);
  CHECK(status_of(in_folder + FEMCG_WRONG_PROGRAM + " compare case.yaml --operators wrong-throws" + quick) == 3);
}

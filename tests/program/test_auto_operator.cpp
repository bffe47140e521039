// Timing trials of two operators within CG, and `operator: auto` as seen by its user.

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "operators/catalogue.hpp"
#include "operators/ordering.hpp"
#include "solver/prediction/choice.hpp"
#include "solver/prediction/timing_trial.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::solver;
namespace tests = femcg::tests;
using operators::Device;
using operators::Operator;
using operators::Vector;
using tests::contains;
using tests::shell;

namespace {

/// An operator with a minimum duration that counts its products.
class Slow final : public Operator<double> {
 public:
  Slow(std::unique_ptr<Operator<double>> a, double seconds)
      : Operator<double>(a->size(), a->device()), a_(std::move(a)), seconds_(seconds) {}
  void diagonal(Vector<double>& d) const override { a_->diagonal(d); }
  operators::Footprint footprint() const override { return a_->footprint(); }
  const Vector<std::int32_t>& ordering() const override { return a_->ordering(); }
  int products() const { return products_; }

 private:
  void multiply(const Vector<double>& x, Vector<double>& y, operators::Scalar* energy) const override {
    ++products_;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
    a_->apply(x, y, energy);
  }
  void multiply_multi_vector(const operators::MultiVector<double>& x, operators::MultiVector<double>& y,
                             double*) const override {
    a_->apply(x, y);
  }
  std::unique_ptr<Operator<double>> a_;
  double seconds_;
  mutable int products_ = 0;
};

/// A system of a few thousand unknowns, with operators made by name.
struct SmallSystem {
  SmallSystem() : small(tests::make_form(mesh::CellShape::quadrilateral, 2, {24, 24, 1})) {
    matrices = operators::assemble_element_matrices(small.form);
    matrix = std::make_shared<operators::CsrMatrix<double>>(operators::assemble<double>(small.form, matrices));
    Vector<double> load(small.form.unknowns);
    for (std::int64_t i = 0; i < load.size(); ++i) load[i] = 1.0 + 0.5 * std::sin(static_cast<double>(i));
    b = operators::copied(load, tests::device());
  }
  std::unique_ptr<Operator<double>> make(const char* name) const {
    operators::Ingredients<double> from;
    from.device = tests::device();
    from.form = &small.form;
    from.element_matrices = &matrices;
    from.matrix = matrix;
    return operators::find_operator(name)->make<double>(from, {});
  }
  tests::SmallForm small;
  operators::ElementMatrices matrices;
  std::shared_ptr<const operators::CsrMatrix<double>> matrix;
  Vector<double> b;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, scale = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return largest / scale;
}

/// Case of the program: a square, whose solution does not depend on the operator.
const std::string square =
    " $cases/minimal.yaml --device cpu --no-progress --set equation.source=1 --set mesh.box.cells=[60,60] --set "
    "'output.probes={centre: [0.5, 0.5]}' --output made ";

}  // namespace

TEST_CASE("each of two operators makes four products in turn, the first of which does not count; then one makes all") {
  const SmallSystem system;
  const Slow first(system.make("csr"), 0.002), runner_up(system.make("csr"), 0.0005);
  const TrialOperator<double> both(first, runner_up);
  Vector<double> y(both.size(), both.device());
  for (int product = 0; product < 12; ++product) {
    both.apply(system.b, y);
    CHECK(first.products() == (product < 8 ? product / 2 + 1 : product - 3));
    CHECK(runner_up.products() == (product < 8 ? (product + 1) / 2 : 4));
    CHECK((both.first_seconds() > 0) == (product >= 2));
    CHECK((both.runner_up_seconds() > 0) == (product >= 3));
  }
  CHECK(both.first_seconds() >= 0.002);
  CHECK(both.runner_up_seconds() >= 0.0005);
}

TEST_CASE("a product of either is that of both, whatever their orderings") {
  const SmallSystem system;
  const auto csr = system.make("csr"), pjds = system.make("pjds");
  REQUIRE(pjds->ordering().size() > 0);
  for (const auto& [first, runner_up] : {std::pair{&csr, &pjds}, std::pair{&pjds, &csr}}) {
    const TrialOperator<double> both(**first, **runner_up);
    const Vector<double> x = operators::to_ordering(both, system.b);
    Vector<double> expected(both.size(), both.device());
    csr->apply(system.b, expected);
    const Vector<double> natural = operators::copied(expected, Device::host);
    for (int product = 0; product < 10; ++product) {
      Vector<double> y(both.size(), both.device());
      operators::Scalar energy(both.device()), of_csr(both.device());
      both.apply(x, y, &energy);
      csr->apply(system.b, expected, &of_csr);
      const Vector<double> came = operators::copied(operators::from_ordering(both, y), Device::host);
      for (std::int64_t i = 0; i < came.size(); ++i) CHECK(came[i] == doctest::Approx(natural[i]).epsilon(1e-12));
      CHECK(energy.value() == doctest::Approx(of_csr.value()).epsilon(1e-12));
    }
  }
}

TEST_CASE("CG goes on from a trial, with another operator in another ordering, to the same solution") {
  const SmallSystem system;
  CgOptions<double> options;
  options.tolerance = 1e-10;
  options.method = CgMethod::classic;  // a persistent kernel cannot resume a direction
  const auto csr = system.make("csr"), pjds = system.make("pjds");
  std::vector<double> exact;
  const CgResult alone = conjugate_gradients(*csr, system.b, exact, options);
  REQUIRE(alone.reason == StopReason::converged);
  for (const auto& [first, runner_up] : {std::pair{&csr, &pjds}, std::pair{&pjds, &csr}}) {
    std::vector<double> x;
    const TimingTrial<double> trial = try_both<double>(**first, "a", **runner_up, "b", system.b, x, options);
    CHECK(trial.state.result.reason == StopReason::max_iterations);
    CHECK(trial.state.result.iterations == 8);
    CHECK_FALSE(trial.selection.why.empty());
    CgOptions<double> rest = options;
    rest.before = &trial.state;
    const CgResult all = conjugate_gradients(**runner_up, system.b, x, rest);
    CHECK(all.reason == StopReason::converged);
    CHECK(all.true_relative_residual <= 1e-10);
    CHECK(largest_difference(x, exact) < 1e-8);
    // Iteration numbers and times continue as in one loop.
    REQUIRE(all.history.size() == static_cast<std::size_t>(all.iterations) + 1);
    for (std::size_t i = 1; i < all.history.size(); ++i) {
      CHECK(all.history[i].number == all.history[i - 1].number + 1);
      CHECK(all.history[i].seconds >= all.history[i - 1].seconds);
    }
    CHECK(all.iterations >= alone.iterations - 2);
    CHECK(all.iterations <= alone.iterations + 2);
    CHECK(all.seconds >= trial.state.result.seconds);
  }
}

TEST_CASE("a trial that is over is over, and iterations have the limit that was asked for") {
  const SmallSystem system;
  const auto csr = system.make("csr"), sell = system.make("sell");
  std::vector<double> x;
  CgOptions<double> options;
  options.max_iterations = 3;
  const TimingTrial<double> short_one = try_both<double>(*csr, "csr", *sell, "sell", system.b, x, options);
  CHECK(short_one.state.result.iterations == 3);
  if (csr->device() == Device::host) {  // a GPU makes some products to load its kernels
    CHECK_FALSE(short_one.selection.runner_up);
    CHECK(contains(short_one.selection.why, "over before"));
  }
  options.max_iterations = 20;
  const TimingTrial<double> first = try_both<double>(*csr, "csr", *sell, "sell", system.b, x, options);
  options.before = &first.state;
  CHECK(conjugate_gradients(*csr, system.b, x, options).iterations == 20);
  options.before = nullptr;
  Vector<double> zero(csr->size(), csr->device());
  operators::clear(zero);
  const TimingTrial<double> converged = try_both<double>(*csr, "csr", *sell, "sell", zero, x, options);
  CHECK(converged.state.result.reason == StopReason::converged);
}

TEST_CASE("auto gives the solution of any operator, and says what it took and why") {
  const auto solve = [](const std::string& more) {
    const tests::Result run = shell("$femcg run" + square + more + "&& cat made/result.json >&2");
    INFO(run.err);
    REQUIRE(run.status == 0);
    return std::pair{nlohmann::json::parse(run.err), run.out};
  };
  const auto [named, named_out] = solve("--operator csr ");
  CHECK_FALSE(named["operator"].contains("requested"));
  CHECK_FALSE(contains(named_out, "  auto:"));
  for (const std::string more :
       {"", "--operator auto ", "--set solver.operator.name=auto ", "--set solver.preconditioner=chebyshev ",
        "--set degree=3 --set mesh.box.cells=[20,20] "}) {
    CAPTURE(more);
    const auto [result, out] = solve(more);
    const auto& op = result["operator"];
    CHECK(op["requested"] == "auto");
    CHECK(op["name"] != "auto");
    CHECK(operators::find_operator(op["name"].get<std::string>()) != nullptr);
    CHECK(op["why"].get<std::string>().size() > 20);
    CHECK(contains(out, "auto: " + op["why"].get<std::string>()));
    CHECK(result["solve"]["reason"] == "converged");
    CHECK(result["solve"]["true_relative_residual"] <= 1e-8);
    const double value = named["quantities"]["probes"]["centre"], same = result["quantities"]["probes"]["centre"];
    CHECK(same == doctest::Approx(value).epsilon(contains(more, "degree") ? 1e-3 : 1e-7));
  }
}

TEST_CASE("with multigrid from degree 2 on auto is matrix-free, and no speed of the machine is asked for") {
  const auto result_of = [](const std::string& more) {
    const tests::Result run = shell(
        "$femcg run" + square + "--set degree=2 --set mesh.box.cells=[20,20] --set solver.preconditioner=multigrid " +
        more + "&& cat made/result.json >&2");
    INFO(run.err);
    REQUIRE(run.status == 0);
    return nlohmann::json::parse(run.err);
  };
  const nlohmann::json one = result_of("");
  CHECK(one["operator"]["requested"] == "auto");
  CHECK(one["operator"]["name"] == "matrix-free");
  CHECK(contains(one["operator"]["why"].get<std::string>(), "multigrid needs few products"));
  CHECK(one["seconds"]["prediction"] == 0);
  const nlohmann::json several = result_of("--set 'loads={one: {source: 1}, two: {source: 2}}' ");
  CHECK_FALSE(contains(several["operator"]["why"].get<std::string>(), "multigrid needs few products"));
  CHECK(several["seconds"]["prediction"] > 0);
}

TEST_CASE("on a GPU auto is matrix-free for one load, but a matrix of degree 1 of simplices, and of few unknowns") {
  const auto taken = [](const tests::SmallForm& small, RuleInput of) {
    of.form = &small.form;
    of.preconditioner = "jacobi";
    of.device = Device::cuda;
    const auto decision = decide_by_rule(of);
    return decision ? decision->named.name : "";
  };
  const bool on_gpu = operators::cuda_device_in_use().has_value();  // which assembles
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const tests::SmallForm small = tests::make_form(shape, degree, {3, 3, mesh::dimension(shape) == 3 ? 3 : 1});
      const bool is_tensor = mesh::is_tensor(shape), is_plane = mesh::dimension(shape) == 2,
                 has_matrix = on_gpu && degree <= (is_plane    ? 3
                                                   : is_tensor ? 0
                                                               : 2);
      CHECK(taken(small, {}) == (has_matrix ? "csr" : !is_tensor && degree == 1 ? "" : "matrix-free"));
      if (degree > 1) CHECK(taken(small, {.loads = 2}).empty());
      if (degree > 1) CHECK(taken(small, {.loop = CgLoop::launched}).empty());
    }
}

TEST_CASE("auto solves several loads, in turn or at once, and in single precision") {
  const std::string loads = "--set 'loads={one: {source: 1}, two: {source: 2}}' ";
  for (const std::string& more : {loads, loads + "--set solver.cg=classic ", loads + "--set solver.cg=block ",
                                  std::string("--set solver.precision=single --set solver.tolerance=1e-5 ")}) {
    CAPTURE(more);
    const tests::Result run = shell("$femcg run" + square + more + "&& cat made/result.json >&2");
    INFO(run.err);
    REQUIRE(run.status == 0);
    const auto result = nlohmann::json::parse(run.err);
    CHECK(result["operator"]["requested"] == "auto");
    if (!contains(more, "loads")) continue;
    const double one = result["loads"][0]["quantities"]["probes"]["centre"];
    CHECK(result["loads"][1]["quantities"]["probes"]["centre"].get<double>() == doctest::Approx(2 * one).epsilon(1e-6));
  }
}

TEST_CASE("auto takes a matrix where cells would lose numbers that single precision cannot tell from 0") {
  const std::string run =
      "run $cases/minimal.yaml --device cpu --set mesh.box.cells=[40,40] --set equation.source=1 --set "
      "solver.precision=single --output results --set equation.diffusion=";
  const tests::Result extreme = tests::program_run(run + "1e30");
  CHECK(extreme.status == 0);
  // Or it chooses an operator with a matrix for its speed.
  CHECK((contains(extreme.out, "add up numbers of this problem that") ||
         !(contains(extreme.out, "operator    matrix-free") || contains(extreme.out, "operator    lma"))));
  CHECK(contains(extreme.out, "CG          converged"));
  const tests::Result usual = tests::program_run(run + "1e10");
  CHECK(usual.status == 0);
  CHECK_FALSE(contains(usual.out, "add up numbers"));
}

TEST_CASE(
    "check says what auto would take and what the first three operators are expected to take, and solves nothing") {
  const tests::Result check = shell("$femcg check" + square + "; test -e made && echo written");
  CHECK(contains(check.out, "  operator: auto\n"));
  CHECK(contains(check.out, "# What the first 3 of "));
  CHECK(contains(check.out, "operators are expected to take (femcg predict shows all):\n#   operator "));
  CHECK(contains(check.out, "# operator auto: "));
  CHECK_FALSE(contains(check.out, "written"));
  const auto table = check.out.substr(check.out.find(" product iteration "));
  CHECK(std::ranges::count(table.substr(0, table.find("# operator auto: ")), '\n') == 4);
  const tests::Result named = tests::program_run("check" + square + "--operator sell");
  CHECK_FALSE(contains(named.out, "# operator auto"));
  CHECK(contains(named.out, "# What the first 3 of "));
}

TEST_CASE("predict shows times, and beside measured ones how far they are off") {
  const tests::Result predicted = tests::program_run("predict $cases/minimal.yaml --device cpu");
  CHECK(predicted.status == 0);
  CHECK(contains(predicted.out, "\n  operator           product iteration    set-up    in all\n"));
  CHECK(contains(predicted.out, "\n  auto: "));
  const tests::Result measured = tests::program_run(
      "predict $cases/minimal.yaml --device cpu --measure --set equation.source=1 --right-hand-sides 4");
  CHECK(measured.status == 0);
  CHECK(contains(measured.out, ", 4 right-hand sides at once\n"));
  CHECK(contains(measured.out, "\n  difference rate of the products: mean "));
  const tests::Result matrix =
      tests::program_run("predict $matrices/laplace.mtx --device cpu --measure --precision single");
  CHECK(matrix.status == 0);
  CHECK(contains(matrix.out, "laplace.mtx: 36 x 36, 156 nonzeros; single precision, cpu"));
  CHECK_FALSE(contains(matrix.out, "matrix-free"));
  const tests::Result one = tests::program_run("predict $cases/minimal.yaml --device cpu --operator sell");
  CHECK(tests::lines(one.out) == 3);
}

TEST_CASE("what auto and predict do not take is told in one sentence") {
  tests::check_refused(
      "check case.yaml", "case.yaml:4:26: operator auto takes no options; name the operator that 'coop'",
      tests::file("case.yaml", "mesh:\n  box: {cells: [4, 4]}\nsolver:\n  operator: {name: auto, coop: 8}\n"));
  tests::check_refused("compare $cases/minimal.yaml --operator auto", "unknown operator 'auto'");
  tests::check_refused("run $cases/minimal.yaml --operator autp", "unknown operator 'autp'");
  tests::check_refused("predict", "a file is missing, such as femcg predict CASE.yaml");
  tests::check_refused("predict $cases/minimal.yaml --precision single", "use --set solver.precision=single");
  tests::check_refused("predict $matrices/laplace.mtx --set degree=2", "--set is for cases");
  tests::check_refused("predict $matrices/laplace.mtx --precision single,double", "must be double or single");
  tests::check_refused("predict $matrices/laplace.mtx --right-hand-sides 2,4", "one number of right-hand sides");
  tests::check_refused("predict $matrices/laplace.mtx --operator matrix-free", "made from a matrix alone");
  tests::check_refused("predict $matrices/laplace.mtx --device cpu --operator cusparse-csr", "no version for the CPU");
  tests::check_refused("predict absent.mtx", "absent.mtx");
}

TEST_CASE("without a place to keep speeds the run goes on, with one sentence") {
  for (const auto& [before, sentence] :
       {std::pair{"export XDG_CACHE_HOME=relative HOME=\n", "there is no home folder to keep them in"},
        std::pair{"export XDG_CACHE_HOME=/dev/null\n", "cannot be written"}}) {
    CAPTURE(before);
    const tests::Result run = shell(std::string(before) + "$femcg run" + square);
    CHECK(run.status == 0);
    const std::size_t at = run.out.find(sentence);
    REQUIRE(at != std::string::npos);
    CHECK(run.out.find(sentence, at + 1) == std::string::npos);
    CHECK(contains(run.out, "speeds of the machine are measured in every run: "));
    CHECK(contains(run.out, "converged"));
  }
}

TEST_CASE("the iterations that are expected are those of the case's shape, coefficients and conditions") {
  const tests::Result run =
      shell(tests::file("bar.yaml",
                        "mesh: {box: {cells: [32, 4, 4], size: [4, 0.2, 0.2], distort: 0.1}}\ndegree: 3\n"
                        "equation: {source: 1, diffusion: 1+x}\n"
                        "boundary: {left: {value: 1}, all: {transfer: 0.01, ambient: 0}}\n"
                        "solver: {device: cpu, operator: csr}\noutput: {vtu: false}\n") +
            "$femcg run bar.yaml --output one --quiet && cat one/result.json && "
            "$femcg compare bar.yaml --operators csr --iterations 2 --repetitions 1 --output two --quiet && "
            "cat two/compare.json >&2");
  REQUIRE(run.status == 0);
  const double taken = nlohmann::json::parse(run.out)["solve"]["iterations"],
               expected = nlohmann::json::parse(run.err)[0]["comparison"]["expected_iterations"];
  CHECK(expected == doctest::Approx(taken).epsilon(0.2));  // by the rule for boxes: 201 of 454
}

TEST_CASE("compare says below its table what auto would take, and its regret by what was measured") {
  const tests::Result run = shell("$femcg compare" + square +
                                  "--operators csr,sell,matrix-free --iterations 5 --repetitions 2 > table; s=$?; "
                                  "cat table; cat made/compare.json >&2; exit $s");
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "\n  auto takes "));
  const auto records = nlohmann::json::parse(run.err);
  REQUIRE(records.size() == 3);
  const nlohmann::json* chosen = nullptr;
  double iterations = 0;
  for (const auto& record : records) {
    CHECK(record["comparison"]["predicted_product_seconds"] > 0);
    CHECK(record["comparison"]["predicted_iteration_seconds"] > 0);
    if (!record["comparison"].contains("auto")) continue;
    CHECK(chosen == nullptr);
    chosen = &record;
    iterations = record["comparison"]["auto"]["iterations"];
    CHECK(record["comparison"]["auto"]["of"] == "solution");
  }
  REQUIRE(chosen != nullptr);
  const auto seconds = [&](const nlohmann::json& record) {
    return record["seconds"]["assembly"].get<double>() + record["seconds"]["conversion"].get<double>() +
           iterations / record["solve"]["iterations_per_second"].get<double>();
  };
  double best = seconds(*chosen);
  for (const auto& record : records) best = std::min(best, seconds(record));
  const bool ties = (*chosen)["comparison"]["auto"]["ties"];  // by the criterion of the recommendation
  CHECK(contains(run.out, ", which ties with ") == (ties && seconds(*chosen) > best));
  CHECK((*chosen)["comparison"]["auto"]["regret"].get<double>() ==
        doctest::Approx(seconds(*chosen) / best - 1).epsilon(1e-6));
  const tests::Result matrix =
      tests::program_run("matrix $matrices/laplace.mtx --device cpu --iterations 5 --repetitions 2 --output made");
  CHECK(matrix.status == 0);
  CHECK(contains(matrix.out, "\n  auto takes "));
}

TEST_CASE("without a GPU device: auto is no reason for words" * tests::needs_no_gpu()) {
  const tests::Result run =
      shell("$femcg run $cases/minimal.yaml --set equation.source=1 && cat results/minimal/result.json");
  CHECK(run.status == 0);
  CHECK_FALSE(contains(run.out, "device auto"));
  CHECK_FALSE(contains(run.out, "GPU"));
  const tests::Result check = tests::program_run("check $cases/minimal.yaml --device cuda");
  CHECK(check.status == 0);
  CHECK(contains(check.out, "# operator auto: decided where the GPU is\n"));
}

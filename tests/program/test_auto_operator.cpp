// `operator: auto`: its choice, and how its user sees it.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "operators/catalogue.hpp"
#include "solver/prediction/choice.hpp"
#include "tests/device.hpp"
#include "tests/forms.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::solver;
namespace tests = femcg::tests;
using operators::Device;
using tests::contains;
using tests::shell;

namespace {

/// Case of the program: a square, whose solution does not depend on the operator.
const std::string square =
    " $cases/minimal.yaml --device cpu --no-progress --set equation.source=1 --set mesh.box.cells=[60,60] --set "
    "'output.probes={centre: [0.5, 0.5]}' --output made ";

}  // namespace

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

TEST_CASE("with multigrid from degree 2 on auto is matrix-free, with several loads on the host csr") {
  const auto operator_of = [](const std::string& more) {
    const tests::Result run = shell(
        "$femcg run" + square + "--set degree=2 --set mesh.box.cells=[20,20] --set solver.preconditioner=multigrid " +
        more + "&& cat made/result.json >&2");
    INFO(run.err);
    REQUIRE(run.status == 0);
    return nlohmann::json::parse(run.err)["operator"];
  };
  for (const auto& [more, name] :
       {std::pair{"", "matrix-free"}, std::pair{"--set 'loads={one: {source: 1}, two: {source: 2}}' ", "csr"}}) {
    const nlohmann::json op = operator_of(more);
    CHECK(op["requested"] == "auto");
    CHECK(op["name"] == name);
    CHECK(contains(op["why"].get<std::string>(), "multigrid needs few products"));
  }
}

TEST_CASE("auto goes by shape, degree, unknowns, loads, loop and device") {
  const bool on_gpu = operators::cuda_device_in_use().has_value();  // which assembles
  for (const mesh::CellShape shape : mesh::all_cell_shapes)
    for (int degree = 1; degree <= 4; ++degree) {
      CAPTURE(mesh::name(shape));
      CAPTURE(degree);
      const bool is_tensor = mesh::is_tensor(shape), is_plane = mesh::dimension(shape) == 2;
      const tests::SmallForm small = tests::make_form(shape, degree, {3, 3, is_plane ? 1 : 3});
      const auto taken = [&](PredictionInput of, std::string_view preconditioner = "jacobi") {
        of.form = &small.form;
        of.preconditioner = find_preconditioner(preconditioner);
        const OperatorDecision decision = decide(of, 1);
        CHECK(decision.why.starts_with(decision.named.name + ", since "));
        return decision.named.name;
      };
      const bool few_on_gpu = on_gpu && degree <= (is_plane    ? 3
                                                   : is_tensor ? 0
                                                               : 2),
                 is_short = degree <= (!is_tensor ? 2
                                       : is_plane ? 1
                                                  : 0),
                 has_cells = shape == mesh::CellShape::tetrahedron && degree > 2;
      CHECK(taken({.device = Device::cuda}) == (few_on_gpu ? "csr" : "matrix-free"));
      CHECK(taken({.device = Device::host}) == (is_short ? "sell" : has_cells ? "lma-gather" : "matrix-free"));
      CHECK(taken({.device = Device::host, .loop = CgLoop::fused}) == "matrix-free");
      CHECK(taken({.device = Device::host}, "tensor") == "matrix-free");
      const bool is_hexahedron = shape == mesh::CellShape::hexahedron;
      CHECK(taken({.device = Device::host, .systems = 8}) == (is_hexahedron && degree == 4 ? "matrix-free" : "csr"));
      if (!on_gpu) continue;
      const bool by_cells = is_hexahedron || (shape == mesh::CellShape::tetrahedron && degree == 4);
      CHECK(taken({.device = Device::cuda, .systems = 8}) == (by_cells ? "matrix-free" : "csr"));
      CHECK(taken({.device = Device::cuda, .loop = CgLoop::launched}) == (is_tensor || degree > 1 ? "matrix-free"
                                                                          : is_plane              ? "sell"
                                                                                                  : "csr"));
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

TEST_CASE("check says what auto takes and what that is expected to take, and solves nothing") {
  const tests::Result check = shell("$femcg check" + square + "; test -e made && echo written");
  CHECK(contains(check.out, "  operator: auto\n"));
  CHECK(contains(check.out, "# What it is expected to take (femcg predict shows all operators):\n#   operator "));
  CHECK(contains(check.out, "\n#   sell "));
  CHECK(contains(check.out, "# operator auto: sell, since "));
  CHECK_FALSE(contains(check.out, "written"));
  const tests::Result named = tests::program_run("check" + square + "--operator csr");
  CHECK_FALSE(contains(named.out, "# operator auto"));
  CHECK(contains(named.out, "\n#   csr "));
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

TEST_CASE("without a place to keep speeds they are measured again, with one sentence") {
  for (const auto& [before, sentence] :
       {std::pair{"export XDG_CACHE_HOME=relative HOME=\n", "there is no home folder to keep them in"},
        std::pair{"export XDG_CACHE_HOME=/dev/null\n", "cannot be written"}}) {
    CAPTURE(before);
    const tests::Result predicted = shell(std::string(before) + "$femcg predict $cases/minimal.yaml --device cpu");
    CHECK(predicted.status == 0);
    const std::string all = predicted.out + predicted.err;
    CHECK(contains(all, "speeds of the machine are measured in every run: "));
    const std::size_t at = all.find(sentence);
    REQUIRE(at != std::string::npos);
    CHECK(all.find(sentence, at + 1) == std::string::npos);
    const tests::Result run = shell(std::string(before) + "$femcg run" + square);
    CHECK(run.status == 0);
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
    const auto& of = record["seconds"];
    return of["assembly"].get<double>() + of["conversion"].get<double>() + of["preconditioner"].get<double>() +
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
  CHECK_FALSE(contains(matrix.out, "auto takes"));  // of cases
}

TEST_CASE("compare judges auto by the preconditioner that is taken") {
  const tests::Result run = shell(
      "$femcg compare" + square +
      "--set mesh.box.cell=triangle --set degree=2 --set mesh.box.cells=[80,80] --operators sell,matrix-free --set "
      "'compare.sweep={preconditioner: [auto, jacobi]}' --quiet > table; cat made/compare.json >&2");
  REQUIRE(run.status == 0);
  std::map<std::string, std::string> taken;
  for (const auto& record : nlohmann::json::parse(run.err))
    if (record["comparison"].contains("auto")) taken[record["solve"]["preconditioner"]] = record["operator"]["name"];
  CHECK(taken == std::map<std::string, std::string>{{"jacobi", "sell"}, {"multigrid", "matrix-free"}});
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

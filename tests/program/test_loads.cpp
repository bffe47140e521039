// Several loads with one matrix: each equals the case with its source and boundary values alone.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "mesh/box/box.hpp"
#include "solver/case/case.hpp"
#include "solver/krylov/iterations_left.hpp"
#include "solver/messages/error.hpp"
#include "solver/prediction/iterations.hpp"
#include "tests/problems.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::tests;

namespace {

const std::string base =
    "mesh: {box: {cells: [12, 10], distort: 0.2}}\ndegree: 2\nequation: {diffusion: 1+x, source: 1}\n"
    "boundary: {left: {value: 0}, right: {flux: 0}, top: {transfer: 2, ambient: 1}, bottom: {value: x}}\n";
const std::string loads =
    "loads:\n"
    "  as given: {}\n"
    "  hot: {source: 0, boundary: {left: {value: 1+y}, bottom: {value: 3}}}\n"
    "  'sun, \"late\" <b>': {boundary: {right: {flux: 3}, top: {ambient: 20*x}}}\n"
    "  nothing: {source: 0, boundary: {top: {ambient: 0}, bottom: {value: 0}}}\n";
/// Options --set that turn the case without loads into each of them.
const std::vector<std::string> alone = {
    "", "--set equation.source=0 --set boundary.left.value=1+y --set boundary.bottom.value=3",
    "--set boundary.right.flux=3 --set boundary.top.ambient=20*x",
    "--set equation.source=0 --set boundary.top.ambient=0 --set boundary.bottom.value=0"};

/// Checks the message about a case that consists of `base` and these loads.
void check_loads_refused(const std::string& given, const std::string& part) {
  check_refused("check case.yaml", part, file("case.yaml", base + given));
}

nlohmann::json json_of(const std::string& text) { return nlohmann::json::parse(text); }

}  // namespace

TEST_CASE("several loads are worth it to find the iterations with degree 1 where one is not") {
  const mesh::Mesh mesh = mesh::make_box({mesh::CellShape::triangle, {400, 58}, {40, 1}, 0});
  solver::Case made = make_case(2, "1", "1+x");
  made.problem.boundary = {transfer_on("all", "0.01", "0")};
  const mesh::FunctionSpace space(mesh, made.degree);
  solver::SolverChoice jacobi;
  jacobi.preconditioner.name = "jacobi";
  jacobi.tolerance = 1e-8;
  jacobi.max_iterations = 100000;
  const double by_rule = solver::expected_iterations(solver::Problem(made.problem, space), jacobi);
  const solver::LoadData load{"one", made.problem.source, made.problem.boundary};
  made.problem.loads = {load, load};
  made.problem.loads[1].name = "other";
  const double solved = solver::expected_iterations(solver::Problem(made.problem, space), jacobi);
  CHECK(by_rule == doctest::Approx(1953).epsilon(0.01));  // for a part with prescribed values all around
  CHECK(solved == doctest::Approx(5774).epsilon(0.25));   // iterations of CG in either case
}

TEST_CASE("loads have their own powers of points, and one operator") {
  const Result run =
      shell(file("case.yaml",
                 "mesh: {box: {cells: [9, 7]}}\ndegree: 2\nequation: {source: 1}\nboundary: {all: {value: 0}}\n"
                 "points: {a: {at: [0.3, 0.4], power: 2}, b: {at: [0.6, 0.7], power: -1}}\n"
                 "loads: {both: {}, first: {points: {b: {power: 0}}}, none: {points: {a: {power: 0}, b: {power: 0}}}}\n"
                 "solver: {device: cpu, tolerance: 1e-9}\noutput: {vtu: false, probes: {p: [0.5, 0.2]}}\n") +
            "$femcg run case.yaml --quiet --output all && cat all/result.json && "
            "$femcg run all/case.yaml --quiet --output again && cat again/result.json >&2");
  REQUIRE(run.status == 0);
  CHECK(json_of(run.err)["loads"][0]["quantities"] == json_of(run.out)["loads"][0]["quantities"]);
  const auto loads = json_of(run.out)["loads"];
  const auto value = [&](int load) { return loads[load]["quantities"]["probes"]["p"].get<double>(); };
  const auto of_balance = [&](int load, const char* what) {
    return loads[load]["quantities"]["balance"][what].get<double>();
  };
  CHECK(of_balance(0, "sources") == doctest::Approx(3));
  CHECK(of_balance(0, "sinks") == doctest::Approx(1));
  CHECK(of_balance(1, "sources") == doctest::Approx(3));
  CHECK(of_balance(1, "sinks") == 0);
  CHECK(of_balance(2, "sources") == doctest::Approx(1));
  CHECK(value(1) > value(2));
  CHECK(value(0) < value(1));
}

TEST_CASE("the vectors of a load are those of its problem alone, to the bit") {
  const mesh::Mesh mesh = mesh::make_box({mesh::CellShape::hexahedron, {4, 3, 3}, {1, 1, 1}, 0.1});
  solver::Case made = make_case(2, "1+x", "x*y");
  made.problem.boundary = {value_on("left", "100"), transfer_on("right", "3", "20"), flux_on("top", "5"),
                           value_on("bottom", "y")};
  solver::LoadData first{"first", made.problem.source, made.problem.boundary}, second = first;
  second.name = "second";
  second.source.everywhere = solver::Expression("z", "test");
  second.boundary[0].value = solver::Expression("100*z", "test");
  second.boundary[1].ambient = solver::Expression("-x", "test");
  second.boundary[2].value = solver::Expression("0", "test");
  made.problem.loads = {first, second};
  const mesh::FunctionSpace space(mesh, made.degree);
  const solver::Problem both(made.problem, space);
  REQUIRE(both.loads().size() == 2);
  for (const solver::Load& load : both.loads()) {
    const solver::LoadData& of = load.name() == "first" ? first : second;
    solver::ProblemData data = made.problem;
    data.loads.clear();
    data.source = of.source;
    data.boundary = of.boundary;
    const solver::Problem single(data, space);
    CHECK(single.form().unknown_of_dof.size() == both.form().unknown_of_dof.size());
    CHECK(std::ranges::equal(single.form().unknown_of_dof, both.form().unknown_of_dof));
    CHECK(single.load() == load.values());
    const std::vector<double> x(both.form().unknowns, 0.25);
    const std::vector<double> dofs = single.to_dofs(x);
    CHECK(dofs == both.to_dofs(x, load));
    const auto measured = solver::measure(single, single.loads().front(), {}, dofs),
               measured_together = solver::measure(both, load, {}, dofs);
    CHECK(measured.flux == measured_together.flux);
    CHECK(measured.integral == measured_together.integral);
  }
}

namespace {

/// True if numbers, or objects of numbers, are equal within a tolerance of CG.
bool is_near(const nlohmann::json& a, const nlohmann::json& b) {
  if (a.is_number()) return std::abs(a.get<double>() - b.get<double>()) <= 1e-6 * (1 + std::abs(b.get<double>()));
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items())
    if (!b.contains(key) || !is_near(value, b[key])) return false;
  return true;
}

}  // namespace

TEST_CASE("each load comes out as the case alone, in every result: in turn to the bit, together to the tolerance") {
  for (const std::string solver :
       {"--set solver.cg=classic", "",
        "--set solver.operator=matrix-free --set solver.precision=single --set solver.cg=batched",
        "--set solver.operator=sell --set solver.preconditioner=chebyshev",
        "--set solver.operator=lma-gather --set solver.cg=batched"}) {
    CAPTURE(solver);
    const bool in_turn = solver.find("classic") != std::string::npos,
               block = !in_turn && solver.find("batched") == std::string::npos;
    // The choice of auto may differ from run to run.
    const std::string op = solver.find("solver.operator") == std::string::npos ? "--operator csr " : "";
    const std::string options = " --quiet --threads 2 --set solver.device=cpu " + op + solver + " ";
    std::string commands = file("loads.yaml", base + loads) + file("alone.yaml", base) +
                           "$femcg run loads.yaml --set output.directory=all" + options + "&& cat all/result.json\n";
    for (const std::string& set : alone)
      commands += "$femcg run alone.yaml --set output.directory=one" + options + set + " && cat one/result.json\n";
    const Result result = shell(commands);
    CAPTURE(result.err);
    REQUIRE(result.status == 0);
    std::istringstream stream(result.out);
    nlohmann::json all;
    stream >> all;
    REQUIRE(all["loads"].size() == alone.size());
    CHECK_FALSE(all.contains("quantities"));
    std::int64_t iterations = 0;
    for (const nlohmann::json& load : all["loads"]) {
      nlohmann::json one;
      stream >> one;
      CAPTURE(load["name"].dump());
      CHECK(load["solve"]["reason"] == one["solve"]["reason"]);
      CHECK(is_near(load["quantities"], one["quantities"]));
      const int more = load["solve"]["iterations"].get<int>() - one["solve"]["iterations"].get<int>();
      CHECK(more <= 1);
      CHECK((more >= -1 || block));
      CHECK(load["solve"]["true_relative_residual"].get<double>() <= 1e-8);
      if (in_turn) {
        CHECK(load["quantities"] == one["quantities"]);
        for (const char* key : {"iterations", "relative_residual", "true_relative_residual"})
          CHECK(load["solve"][key] == one["solve"][key]);
      }
      iterations += load["solve"]["iterations"].get<std::int64_t>();
    }
    CHECK(all["solve"]["iterations"] == iterations);
    CHECK(all["solve"]["reason"] == "converged");
    CHECK(all["solve"]["cg"] == (in_turn ? "classic" : block ? "block" : "batched"));
    CHECK(all["loads"][3]["solve"]["iterations"] == 0);
  }
}

TEST_CASE("files, summary and exit status of a case with loads") {
  const std::string run =
      file("case.yaml", base + loads) + "$femcg run case.yaml --operator csr --set output.directory=made ";
  const Result summary = shell(run);
  CHECK(summary.status == 0);
  for (const char* part : {"for 4 loads", "as given", "hot", "sun, \"late\" <b>", "nothing", "integral"})
    CHECK(contains(summary.out, part));
  const Result files = shell(run + "--quiet; cat made/residuals.csv; grep -a -o 'Name=\"u[^\"]*\"' made/solution.vtu");
  for (const char* part :
       {"load,iteration,relative_residual,seconds\n", "\nas given,0,", "\n\"sun, \"\"late\"\" <b>\",1,",
        "Name=\"u_as given\"", "Name=\"u_sun, &quot;late&quot; &lt;b&gt;\"", "Name=\"u_nothing\""})
    CHECK(contains(files.out, part));
  CHECK_FALSE(contains(files.out, "Name=\"u\""));
  // The resolved case gives the same result again.
  const Result again = shell(run +
                             "--quiet && cp made/case.yaml again.yaml && $femcg run again.yaml --quiet "
                             "--set output.directory=again && cmp made/solution.vtu again/solution.vtu");
  CHECK(again.status == 0);
  const Result few = shell(run + "--quiet --set solver.max_iterations=3; echo status $?; cat made/result.json");
  CHECK(contains(few.out, "status 1\n"));
  const nlohmann::json record = json_of(few.out.substr(few.out.find('{')));
  CHECK(record["solve"]["reason"] == "max_iterations");
  CHECK(record["loads"][0]["solve"]["reason"] == "max_iterations");
  CHECK(record["loads"][3]["solve"]["reason"] == "converged");
  const Result set = shell(run + "--quiet --set loads.hot.boundary.bottom.value=-7 && cat made/result.json");
  CHECK(json_of(set.out)["loads"][1]["quantities"]["minimum"] == -7);
}

TEST_CASE("comparisons are made with the first load") {
  const Result result =
      shell(file("case.yaml", base + loads) +
            "$femcg compare case.yaml --operators csr,sell --iterations 3 --repetitions 1 --quiet --output made; "
            "cat made/compare.json");
  CHECK(result.status == 0);
  CHECK(contains(result.out, "of 4 loads the first, 'as given', is taken"));
}

TEST_CASE("cg: batched takes one load too, and is refused where it means nothing") {
  const std::string alone_file = file("case.yaml", base);
  const Result one = shell(alone_file +
                           "$femcg run case.yaml --quiet --set solver.cg=batched --set output.directory=made && "
                           "cat made/result.json");
  CHECK(one.status == 0);
  CHECK(json_of(one.out)["solve"]["cg"] == "batched");
  const Result of_block = shell(alone_file +
                                "$femcg run case.yaml --quiet --set solver.cg=block --set output.directory=made && "
                                "cat made/result.json");
  CHECK(of_block.status == 0);
  CHECK(json_of(of_block.out)["solve"]["cg"] == "block");
  check_refused("compare case.yaml --operators csr --set solver.cg=batched",
                "solver.cg: batched is for several right-hand sides; say how many in compare.right_hand_sides, such "
                "as [1, 8]",
                alone_file);
  check_refused("run case.yaml --set solver.cg=batched --set solver.loop=resident",
                "solver.loop: persistent is of the single-reduction method; leave out solver.cg: batched", alone_file);
}

TEST_CASE("what is wrong with loads") {
  check_loads_refused("loads: {a: {boundary: {left: {flux: 1}}}}\n",
                      "case.yaml:5:31: loads.a.boundary.left must be {value: ...}, as all loads have the kinds of "
                      "conditions of 'boundary', and has no 'flux'");
  check_loads_refused("loads: {a: {boundary: {top: {transfer: 1, ambient: 2}}}}\n",
                      "loads.a.boundary.top must be {ambient: ...}, as all loads have the kinds of conditions, and the "
                      "transfer, of 'boundary'");
  check_loads_refused("loads: {a: {boundary: {right: 3}}}\n", "loads.a.boundary.right must be {flux: ...}");
  check_loads_refused(
      "loads: {a: {boundary: {rigth: {flux: 3}}}}\n",
      "loads.a.boundary.rigth: 'boundary' has no group 'rigth', and all loads have its groups (one that "
      "is insulated as {flux: 0}); did you mean 'right'?");
  check_loads_refused("loads: {a: {}, b: {}, a: {source: 2}}\n", "the key 'a' is repeated");
  check_loads_refused("loads: {a: {sorce: 2}}\n", "unknown key 'loads.a.sorce'; did you mean 'source'?");
  check_loads_refused("loads: {}\n", "loads has no load; name one at least");
  for (const char* name : {"\\0", "a\\nb", "\\x85", "\\uffff", ""})
    check_loads_refused("loads: {\"" + std::string(name) + "\": {}}\n", "is no name");
  check_loads_refused("loads: {\"\xff\": {}}\n", "");
  check_loads_refused("loads: [1, 2]\n", "loads must be a map");
  check_loads_refused("loads: {a: {source: z+}}\n", "loads.a.source");
  check_loads_refused("loads: {a: {source: 1/(x-x)}}\n", "loads.a.source");
  check_loads_refused("loads: {a: {source: {nowhere: 2}}}\n", "the mesh has no region 'nowhere'");
  check_loads_refused("exact: x\nloads: {a: {source: 2}}\n", "'exact' is the solution for one load");
  const std::string floating = "mesh: {box: {cells: [4, 4]}}\nboundary: {left: {flux: 0}, right: {flux: 0}}\n";
  check_refused("run case.yaml", "and the load 'b' does not balance",
                file("case.yaml", floating + "loads: {a: {}, b: {boundary: {left: {flux: 1}}}}\n"));
  const Result many = shell(
      "{ echo 'mesh: {box: {cells: [800, 800]}}'; echo 'boundary: {left: {value: 0}}'; echo 'loads:'; "
      "for i in $(seq 400); do echo \"  load$i: {source: $i}\"; done; } > case.yaml\n" +
      little_memory + "$femcg run case.yaml");
  CHECK(many.status == 3);
  CHECK(contains(many.err, "a case of 400 loads needs about"));
}

namespace {

/// A case without loads for studies.
const std::string studied =
    "mesh: {box: {cells: [4, 4]}}\nequation: {diffusion: 1+x, source: 2*pi^2*(1+x)*sin(pi*x)*sin(pi*y) - "
    "pi*cos(pi*x)*sin(pi*y)}\nboundary: {all: {value: 0}}\nexact: sin(pi*x)*sin(pi*y)\n"
    "solver: {tolerance: 1e-11, operator: csr}\n";

Result run_study(const std::string& text, const std::string& options = "") {
  return shell(file("case.yaml", text) + "$femcg run case.yaml --output r --device cpu " + options +
               " > log; status=$?; cat r/result.json; cmp log r/run.log >&2 || exit 99; exit $status");
}

}  // namespace

TEST_CASE("a study of refinement and degree observes the rates of theory, and each point is the run alone") {
  const Result result = run_study(studied + "sweep: {degree: [1, 2], refine: {from: 1, to: 3, step: 1}}\n");
  INFO(result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json json = json_of(result.out);
  REQUIRE(json["points"].size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const nlohmann::json& point = json["points"][i];
    const double degree = i < 3 ? 1 : 2;
    CHECK(point["values"]["degree"] == std::to_string(i / 3 + 1));
    CHECK(point["values"]["mesh.refine"] == std::to_string(i % 3 + 1));
    CHECK(point["problem"]["cells"] == 16 * (4 << (2 * (i % 3))));
    CHECK(point.contains("rate") == (i % 3 > 0));
    if (i % 3 == 0) continue;
    CHECK(point["rate"]["l2"].get<double>() == doctest::Approx(degree + 1).epsilon(0.05));
    CHECK(point["rate"]["h1"].get<double>() == doctest::Approx(degree).epsilon(0.05));
  }
  const nlohmann::json alone =
      json_of(run_study(studied, "--set degree=2 --set mesh.refine=3 --set solver.cg=classic").out);
  const nlohmann::json& last = json["points"][5];
  CHECK(last["error"]["l2"].get<double>() == doctest::Approx(alone["error"]["l2"].get<double>()).epsilon(1e-6));
  CHECK(last["quantities"]["integral"].get<double>() ==
        doctest::Approx(alone["quantities"]["integral"].get<double>()).epsilon(1e-9));
  // The exact solution has the norms 1/2 and pi/sqrt(2).
  CHECK(alone["error"]["relative_l2"].get<double>() ==
        doctest::Approx(alone["error"]["l2"].get<double>() * 2).epsilon(1e-6));
  CHECK(alone["error"]["relative_h1"].get<double>() ==
        doctest::Approx(alone["error"]["h1"].get<double>() * std::sqrt(2.0) / 3.14159265358979).epsilon(1e-3));
}

TEST_CASE("a study shows how quantities change from point to point, without an exact solution too") {
  const std::string square =
      "mesh: {box: {cells: [4, 4]}}\ndegree: 1\nequation: {source: 1}\nboundary: {all: {value: 0}}\n"
      "output: {probes: {mid: [0.5, 0.5]}}\nsolver: {tolerance: 1e-12}\n";
  const Result refined = run_study(square + "sweep: {mesh.refine: [0, 1, 2, 3]}\n");
  const nlohmann::json changes = json_of(refined.out)["changes"];
  REQUIRE(changes.size() == 3);  // the minimum does not change, and the flux is exact
  for (const nlohmann::json& each : changes) {
    CHECK(each["points"] == std::vector<int>{1, 2, 3, 4});
    CHECK(each["rates"].size() == 2);
    CHECK(each["rates"][1].get<double>() == doctest::Approx(2).epsilon(0.05));
  }
  CHECK(changes[2]["quantity"] == "u at mid");
  CHECK(changes[2]["limit"].get<double>() == doctest::Approx(0.0736713533).epsilon(1e-4));  // value of its series
  const Result table = shell(file("case.yaml", square + "sweep: {mesh.refine: [0, 1, 2]}\n") +
                             "$femcg run case.yaml && cat results/case/study.csv");
  CHECK(contains(table.out, "\n  changes "));
  CHECK(contains(table.out, ",change of u at mid,rate of u at mid\n"));
  CHECK(contains(table.out, "\n  u at mid "));

  const Result sources = run_study(square + "sweep: {degree: [1, 2], equation.source: [1, 3, 2]}\n");
  const nlohmann::json of_sources = json_of(sources.out)["changes"];
  REQUIRE(!of_sources.empty());
  for (const nlohmann::json& each : of_sources) CHECK_FALSE(each.contains("rates"));
  const Result same = run_study(square + "sweep: {solver.operator: [csr, sell]}\n");
  CHECK(json_of(same.out)["changes"].empty());
}

TEST_CASE("the error of a solution that rounding ends is that of its residual") {
  const nlohmann::json result = json_of(run_study("mesh: {box: {cells: [5, 1, 1]}}\ndegree: 1\nequation: {source: 1}\n"
                                                  "boundary: {left: {value: 0}}\n")
                                            .out);
  CHECK(result["solve"]["iterations"] == 5);  // the number of distinct eigenvalues
  CHECK(result["solve"]["energy_error"].get<double>() < 1e-12);
}

TEST_CASE("a small rise on a large offset is shown in full, and fluxes that rounding spoils are noted") {
  const auto out = [](const std::string& equation, const std::string& boundary) {
    const Result made = shell(file("case.yaml",
                                   "mesh: {box: {cells: [16, 16], cell: quadrilateral}}\ndegree: 2\nsolver: "
                                   "{device: cpu, operator: csr}\noutput: {vtu: false, probes: {mid: [0.5, "
                                   "0.5]}}\nequation: {" +
                                       equation + "}\nboundary: {" + boundary + "}\n") +
                              "$femcg run case.yaml");
    CHECK(made.status == 0);
    return made.out;
  };
  const std::string rise = out("source: 0.001", "all: {value: 1e6}");
  CHECK(contains(rise, "from 1000000 to 1000000.00007367"));
  CHECK(contains(rise, "probe       mid               1000000.00007367"));
  CHECK(!contains(rise, "is not balanced"));
  const std::string plain = out("source: 1", "all: {value: 20}");
  CHECK(contains(plain, "from 20 to 20.0736"));
  CHECK(!contains(plain, "is not balanced"));
  const std::string penalty = out("source: 1", "left: {transfer: 1e15, ambient: 5}");
  CHECK(contains(penalty, "of the heat that comes and goes is not balanced, for which"));
}

TEST_CASE("the table of loads has the fluxes, and one of all that no other entry names") {
  const std::string given = "mesh: {box: {cells: [2, 2]}}\nboundary: {left: {value: 0}, all: {flux: 2}}\n";
  const Result loads = shell(file("case.yaml", given + "loads: {a: {}, b: {boundary: {all: {flux: -1}}}}\n") +
                             "$femcg run case.yaml && cat results/case/result.json >&2");
  CHECK(contains(loads.out, "\n  flux        all                          6 in            3 out\n"));
  CHECK(contains(loads.out, "\n              left                        6 out             3 in\n") !=
        contains(loads.out, "\n  flux        left                        6 out             3 in\n"));
  const nlohmann::json groups = json_of(loads.err)["loads"][0]["quantities"]["groups"];
  CHECK(groups["all"]["area"].get<double>() == doctest::Approx(3));
  CHECK(groups["all"]["flux"].get<double>() == doctest::Approx(6));
  const Result named = shell(file("case.yaml", given + "loads: {a: {}}\n") +
                             "$femcg run case.yaml --set boundary.right.flux=0 "
                             "--set boundary.top.flux=0 --set boundary.bottom.flux=0");
  CHECK_FALSE(contains(named.out, "flux        all "));  // no facet is left for it
}

TEST_CASE("points that differ in the load are solved at once, and one that fails does not lose the others") {
  const std::string linear =
      "mesh: {box: {cells: [12, 10]}}\nequation: {source: 1}\nboundary: {left: {value: 0}}\n"
      "solver: {tolerance: 1e-11, operator: csr}\n";
  const nlohmann::json together =
      json_of(run_study(linear + "sweep: {solver.precision: [double], equation.source: [1, 2, 4]}\n").out);
  const double one = together["points"][0]["quantities"]["maximum"];
  for (int i = 0; i < 3; ++i) {
    CHECK(together["points"][i]["solved_together"] == 3);
    CHECK(together["points"][i]["quantities"]["maximum"].get<double>() ==
          doctest::Approx(one * (1 << i)).epsilon(1e-8));
  }
  CHECK(one == doctest::Approx(0.5).epsilon(1e-8));  // u = x - x^2 / 2

  // One matrix for all tolerances, in the order written; a diffusion that is negative somewhere.
  const Result some =
      run_study(linear + "sweep: {equation.diffusion: [1, x-0.5, 2], solver.tolerance: [1e-4, 1e-9]}\n");
  CHECK(some.status == 1);
  const nlohmann::json points = json_of(some.out)["points"];
  REQUIRE(points.size() == 6);
  for (const int i : {0, 1, 4, 5}) CHECK(points[i]["status"] == "converged");
  for (const int i : {2, 3}) {
    CHECK(points[i]["status"] == "failed");
    CHECK(contains(points[i]["failure"], "equation.diffusion"));
  }
  CHECK(points[1]["seconds"]["assembly"] == 0.0);
  CHECK(points[4]["seconds"]["assembly"] > 0.0);
  CHECK(points[5]["quantities"]["maximum"].get<double>() == doctest::Approx(0.25).epsilon(1e-7));

  const Result folders =
      shell(file("case.yaml", linear + "output: {points: true}\nsweep: {equation.source: [1, 2]}\n") +
            "$femcg run case.yaml --output r --quiet && ls r r/points r/points/2 && wc -l < r/study.csv");
  CHECK(folders.status == 0);
  for (const char* name : {"study.csv", "solution.vtu", "residuals.csv"}) CHECK(contains(folders.out, name));
  CHECK(folders.out.ends_with("3\n"));
}

TEST_CASE("a sweep that is none of femcg run is one sentence") {
  const auto refused = [](const std::string& sweep, const std::string& part) {
    check_refused("run case.yaml", part, file("case.yaml", studied + "sweep: " + sweep + "\n"));
  };
  refused("{degre: [1]}", "'degre' is no key of the case that could be swept; did you mean 'degree'?");
  refused("{degree: [1], mesh.box.dofs: []}", "sweep.mesh.box.dofs must be a list of values, not an empty one");
  refused("{degree: [9]}", "case.yaml:6:9: degree must be a whole number from 1 to 4, not '9'");
  refused("{degree: {from: 1, to: 3}}", "sweep.degree must be a list of values or a range");
  refused("{degree: {from: 3, to: 1, step: 1}}", "the step leads away from the end");
  refused("{output.directory: [a, b]}", "'output.directory' cannot be swept by femcg run");
  refused("{degree: [1], degree: [2]}", "the key 'degree' is repeated");
  refused("{refine: [1], mesh.refine: [2]}", "'mesh.refine' is swept twice");
}

TEST_CASE("--set takes a key out of the case, and whole numbers may have an exponent") {
  const std::string box = file("case.yaml", "mesh: {box: {cells: [4, 4]}}\ndegree: 2\nboundary: {all: {value: 0}}\n");
  const Result swapped =
      shell(box + "$femcg check case.yaml --set mesh.box.cells= --set mesh.box.dofs=2.5e3 --set degree=");
  CHECK(swapped.status == 0);
  CHECK(contains(swapped.out, "dofs: 2500"));
  CHECK(contains(swapped.out, "degree: 1\n"));
  check_refused(
      "check case.yaml --set solver.cg=", "--set solver.cg: the case has no 'solver.cg' that could be removed", box);
  check_refused(
      "check case.yaml --set mesh.box.dofs=1.5e0 --set mesh.box.cells=", "mesh.box.dofs must be a whole number", box);
  check_refused("check case.yaml --set mesh.box= --set mesh.file=no.msh", "--set mesh.file: there is no such file",
                box);
}

TEST_CASE("the iterations that are left follow from the slope of the residuals") {
  solver::IterationsLeft left(1e-8, 400);
  CHECK(left.left() == doctest::Approx(400));
  for (int k = 0; k <= 150; ++k) left.add({std::pow(10.0, -0.04 * k)});  // 200 to the tolerance
  CHECK(left.left() == doctest::Approx(50).epsilon(1e-6));
  CHECK(left.done() == doctest::Approx(151.0 / 201).epsilon(1e-6));
  // Stagnating residuals raise the estimate above the expectation.
  solver::IterationsLeft in_vain(1e-8, 400);
  for (int k = 0; k < 1000; ++k) in_vain.add({1});
  CHECK(in_vain.left() == doctest::Approx(1200));
  // Below the tolerance, the error decides.
  solver::IterationsLeft for_error(1e-8, 100);
  for (int k = 0; k <= 100; ++k) for_error.add({std::pow(10.0, -0.08 * k)});
  CHECK(for_error.done() == doctest::Approx(1).epsilon(0.02));
  for (int k = 0; k < 100; ++k) for_error.add({1e-9, std::pow(10.0, -3 - 0.01 * k)});  // 400 to the tolerance
  CHECK(for_error.left() == doctest::Approx(400).epsilon(0.5));
  CHECK(for_error.done() < 0.5);
}

// Several loads with one matrix: each is the case that has its source and boundary values, alone.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "mesh/box.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/error.hpp"
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
/// What --set makes of the case without loads for each of them.
const std::vector<std::string> alone = {
    "", "--set equation.source=0 --set boundary.left.value=1+y --set boundary.bottom.value=3",
    "--set boundary.right.flux=3 --set boundary.top.ambient=20*x",
    "--set equation.source=0 --set boundary.top.ambient=0 --set boundary.bottom.value=0"};

/// The sentences about a case with these loads, which begins with the lines of `base`.
void check_loads_refused(const std::string& given, const std::string& part) {
  check_refused("check case.yaml", part, file("case.yaml", base + given));
}

nlohmann::json json_of(const std::string& text) { return nlohmann::json::parse(text); }

}  // namespace

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

/// Numbers, or objects of numbers, that are equal as far as a tolerance of CG allows.
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
    // What auto takes may differ from run to run.
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
  const std::string run = file("case.yaml", base + loads) + "$femcg run case.yaml --set output.directory=made ";
  const Result summary = shell(run);
  CHECK(summary.status == 0);
  for (const char* part : {"for 4 loads", "as given", "hot", "sun, \"late\" <b>", "nothing", "integral"})
    CHECK(contains(summary.out, part));
  const Result files = shell(run + "--quiet; cat made/residuals.csv; grep -a -o 'Name=\"u[^\"]*\"' made/solution.vtu");
  for (const char* part :
       {"load,iteration,relative_residual,seconds\n", "\nas given,0,1,", "\n\"sun, \"\"late\"\" <b>\",1,",
        "Name=\"u_as given\"", "Name=\"u_sun, &quot;late&quot; &lt;b&gt;\"", "Name=\"u_nothing\""})
    CHECK(contains(files.out, part));
  CHECK_FALSE(contains(files.out, "Name=\"u\""));
  // The resolved case gives the same once more.
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
                "solver.loop: resident is of the single-reduction method; leave out solver.cg: batched", alone_file);
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

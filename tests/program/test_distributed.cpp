// Several processes started by mpirun: products and CG in distributed_products.cpp; here whole runs of the program,
// compared with runs on one process, and failures of a process.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "solver/preconditioners/hypre_amg.hpp"
#include "solver/prediction/scaling.hpp"
#include "tests/device.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

namespace tests = femcg::tests;
using femcg::tests::contains;
using femcg::tests::lines;
using femcg::tests::Result;
using femcg::tests::shell;

namespace {

bool without_mpi() { return *FEMCG_MPIRUN == '\0'; }
bool on_gpu() { return tests::device() == femcg::operators::Device::cuda; }
/// Skips cases with several processes in a build without MPI. Cases that do not depend on the device run on the host
/// only.
doctest::skip needs_mpi() { return doctest::skip(without_mpi() || on_gpu()); }
doctest::skip needs_mpi_on_any_device() { return doctest::skip(without_mpi()); }
doctest::skip needs_mpi_on_gpu() { return doctest::skip(without_mpi() || !on_gpu()); }

/// Shell lines that let `$mpirun N` start N processes on a machine with few cores, for any user.
const std::string prepare = fmt::format(
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1\n"
    "export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMP_NUM_THREADS=1\n"
    "export OMPI_MCA_odls_base_sigkill_timeout=0  # a process that fails has ended the others itself\n"
    "export LSAN_OPTIONS=detect_leaks=0  # Open MPI's own, in modules that are gone by then\n"
    "mpirun='{} -n'\n",
    FEMCG_MPIRUN);

const std::string square =
    "mesh: {box: {cells: [7, 6], cell: quadrilateral, distort: 0.2}}\n"
    "degree: 2\n"
    "equation: {diffusion: \"1 + x\", source: \"sin(pi*x)\"}\n"
    "boundary: {left: {value: \"y\"}, right: {transfer: 2, ambient: 1}}\n"
    "solver: {operator: csr, tolerance: 1e-10}\n"
    "exact: \"x*y\"\n"
    "output: {probes: {middle: [0.5, 0.5]}, boundary: true}\n";

/// Record that a run printed from result.json, between marks.
nlohmann::json record_of(const Result& result, const std::string& name) {
  const std::string begin = "<" + name + ">", end = "</" + name + ">";
  const std::size_t from = result.out.find(begin), to = result.out.find(end);
  REQUIRE(from != std::string::npos);
  return nlohmann::json::parse(result.out.substr(from + begin.size(), to - from - begin.size()));
}
std::string show(const std::string& name) {
  return fmt::format("echo '<{0}>'; cat {0}/result.json; echo '</{0}>'\n", name);
}

double number(const nlohmann::json& record, const std::string& path) {
  return record.at(nlohmann::json::json_pointer(path)).get<double>();
}

/// Records of a case that 1 to 4 processes have run.
std::array<nlohmann::json, 4> records_of_1_to_4(const std::string& text) {
  std::string script = prepare + tests::file("case.yaml", text);
  for (int count = 1; count <= 4; ++count)
    script += fmt::format("$mpirun {0} $femcg run case.yaml --quiet --output of_{0} || exit 8\n", count);
  for (int count = 1; count <= 4; ++count) script += show(fmt::format("of_{}", count));
  const Result result = shell(script);
  INFO(result.out.substr(0, 2000), result.err);
  REQUIRE(result.status == 0);
  std::array<nlohmann::json, 4> records;
  for (int count = 1; count <= 4; ++count) records[count - 1] = record_of(result, fmt::format("of_{}", count));
  return records;
}

}  // namespace

TEST_CASE("products, diagonals and CG on one to four processes are those of the whole matrix" *
          needs_mpi_on_any_device()) {
  for (const int processes : {1, 2, 3, 4}) {
    CAPTURE(processes);
    const Result result = shell(prepare + fmt::format("$mpirun {} {}", processes, FEMCG_DISTRIBUTED_PRODUCTS));
    INFO(result.out.substr(0, 2000), result.err.substr(0, 2000));
    CHECK(result.status == 0);
    CHECK(result.out.empty());
  }
}

TEST_CASE("several processes come to the result of one, the same to the bit from run to run" *
          needs_mpi_on_any_device()) {
  const std::string run =
      fmt::format(" $femcg run square.yaml --quiet --device {} --set distribution.processes_per_gpu=4 --output ",
                  on_gpu() ? "cuda" : "cpu");
  const std::string last = on_gpu() ? "overlap" : "task";
  const Result result =
      shell(prepare + tests::file("square.yaml", square) + "$femcg run square.yaml --quiet --output one\n" +
            "$mpirun 3" + run + "three && $mpirun 3" + run + "again && $mpirun 4" + run +
            "metis --set distribution.partition=metis --set distribution.mode=" + last + "\n" +
            "for i in 0 1 2; do cmp three/solution_$i.vtu again/solution_$i.vtu || exit 9; done\n" +
            "cut -d, -f1,2 three/residuals.csv > first; cut -d, -f1,2 again/residuals.csv | cmp - first || exit 9\n" +
            "ls three metis; $mpirun 2" + run + "three --set output.vtu=false; ls three\n" + show("one") +
            show("again") + show("metis"));
  INFO(result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json one = record_of(result, "one");
  for (const char* name : {"again", "metis"}) {
    const nlohmann::json several = record_of(result, name);
    CAPTURE(name);
    CHECK(std::abs(number(one, "/solve/iterations") - number(several, "/solve/iterations")) <= 1);
    CHECK(several["solve"]["reason"] == "converged");
    CHECK(number(several, "/solve/true_relative_residual") <= 1e-10);
    CHECK(several["problem"] == one["problem"]);
    for (const char* path : {"/quantities/integral", "/quantities/maximum", "/quantities/probes/middle",
                             "/quantities/flux/left", "/error/l2", "/error/h1"}) {
      CAPTURE(path);
      CHECK(number(several, path) == doctest::Approx(number(one, path)).epsilon(1e-8));
    }
    double unknowns = 0, cells = 0;
    for (const nlohmann::json& process : several["processes"]) {
      unknowns += number(process, "/unknowns");
      cells += number(process, "/cells");
      CHECK(number(process, "/sent_bytes") > 0);
      CHECK(number(process, "/messages") == number(process, "/products") * number(process, "/neighbours"));
    }
    CHECK(unknowns == number(one, "/problem/unknowns"));
    CHECK(cells == number(one, "/problem/cells"));
  }
  CHECK(record_of(result, "again")["distribution"]["partition"] == "blocks");
  CHECK(record_of(result, "again")["processes"].size() == 3);
  CHECK(record_of(result, "metis")["distribution"]["mode"] == last);
  CHECK(record_of(result, "metis")["distribution"].contains("transport") == on_gpu());
  CHECK(record_of(result, "metis")["distribution"]["partition"] == "metis");
  const std::string listed = result.out.substr(0, result.out.find("<one>"));
  CHECK(contains(listed, "solution.pvtu\nsolution_0.vtu\nsolution_1.vtu\nsolution_2.vtu\n"));
  CHECK(contains(listed, "boundary.pvtu\nboundary_0.vtu\nboundary_1.vtu\nboundary_2.vtu\nboundary_3.vtu\n"));
  CHECK(contains(listed, "solution_3.vtu"));
  const int page = tests::result_page.empty() ? 0 : 1;
  CHECK(lines(listed) ==
        2 + (14 + page) + (12 + page) + (7 + page) + 1);  // without pieces, a later run leaves none of an earlier one
}

TEST_CASE("all that is measured of a solution is what one process measures, on all cells, with any partition" *
          needs_mpi()) {
  const std::string cube =
      "mesh: {box: {cells: [3, 2, 2], cell: hexahedron, distort: 0.15}}\n"
      "equation: {diffusion: \"1 + x\", source: \"sin(pi*x) - y\"}\n"
      "boundary: {left: {value: \"y\"}, top: {value: \"z\"}, right: {transfer: 2, ambient: 1}, front: {flux: \"x\"}}\n"
      "points: {middle: {at: [0.5, 0.5, 0.5], power: 0.3}, inside: {at: [0.9, 0.1, 0.3], power: -0.2}}\n"
      "solver: {operator: csr, tolerance: 1e-11}\n"
      "exact: \"x*y\"\n"
      "output: {vtu: false, probes: {vertex: [0.5, 0.5, 0.5], inside: [0.9, 0.1, 0.3]}}\n";
  const std::string plate =  // two parts that do not touch, without prescribed values
      fmt::format(
          "mesh: {{file: \"{}/tests/meshes/two_parts.msh\", refine: 2}}\ndegree: 3\n"
          "equation: {{source: \"x < 2 ? x - 0.5 : 3.3333333333333333333 - x\"}}\n"
          "solver: {{operator: csr, tolerance: 1e-11}}\noutput: {{vtu: false}}\n",
          tests::source_directory().string());
  struct Example {
    std::string file, options;
  };
  std::vector<Example> examples;
  if (femcg::mesh::gmsh_available()) examples.push_back({"plate", ""});
  examples.push_back({"cube", "--set mesh.box.cell=hexahedron --set degree=2 --set mesh.refine=1"});
  examples.push_back({"cube", "--set mesh.box.cell=tetrahedron --set degree=4"});
  examples.push_back({"square", "--set mesh.box.cell=triangle --set degree=3 --set mesh.refine=1"});
  for (const Example& example : examples) {
    CAPTURE(example.file);
    CAPTURE(example.options);
    const std::string run = fmt::format("$femcg run {}.yaml --quiet {} --output ", example.file, example.options);
    const Result result = shell(
        prepare + tests::file("square.yaml", square) + tests::file("cube.yaml", cube) +
        tests::file("plate.yaml", plate) + run + "one || exit 8\n$mpirun 3 " + run + "three || exit 8\n$mpirun 4 " +
        run + "curve --set distribution.partition=curve || exit 8\n" + show("one") + show("three") + show("curve"));
    INFO(result.out.substr(0, 2000), result.err);
    REQUIRE(result.status == 0);
    const nlohmann::json one = record_of(result, "one");
    for (const char* name : {"three", "curve"}) {
      CAPTURE(name);
      const nlohmann::json several = record_of(result, name);
      CHECK(several["problem"] == one["problem"]);
      CHECK(std::abs(number(one, "/solve/iterations") - number(several, "/solve/iterations")) <= 1);
      const double size =
          std::max({std::abs(number(one, "/quantities/maximum")), std::abs(number(one, "/quantities/minimum")), 1e-3});
      const nlohmann::json expected = one["quantities"].flatten(), found = several["quantities"].flatten();
      CHECK(expected.size() == found.size());
      for (const auto& [path, value] : expected.items()) {
        CAPTURE(path);
        if (value.is_number() && path != "/balance/relative_error")
          CHECK(std::abs(found.at(path).get<double>() - value.get<double>()) <=
                1e-8 * std::max(std::abs(value.get<double>()), size));
        else if (!value.is_number())
          CHECK(found.at(path) == value);
      }
    }
  }
}

TEST_CASE("several processes have the levels of multigrid that one has, and its iterations within two" * needs_mpi()) {
  const std::string wedge =
      "mesh: {box: {cells: [9, 10, 11], cell: tetrahedron, distort: 0.2}}\n"
      "degree: 3\n"
      "equation: {diffusion: \"1 + 9*x\", source: 1}\n"
      "boundary: {left: {value: \"y\"}, right: {transfer: 2, ambient: 1}}\n"
      "solver: {preconditioner: multigrid, tolerance: 1e-10, device: cpu}\noutput: {vtu: false}\n";
  const std::string run = " $femcg run wedge.yaml --quiet --output ";
  const Result result =
      shell(prepare + tests::file("wedge.yaml", wedge) + run + "one || exit 8\n$mpirun 2" + run +
            "two --set distribution.partition=curve --set 'mesh.box.cells=[9, 10, 11]' || exit 8\n$mpirun 4" + run +
            "four --operator lma-gather || exit 8\n$mpirun 3" + run +
            "loads --set 'solver.preconditioner={name: multigrid, precision: double}' --set "
            "'loads={a: {source: 1}, b: {source: x}}' || exit 8\n"
            "$mpirun 2 $femcg compare wedge.yaml --operators csr,matrix-free --set compare.iterations=5 --set "
            "compare.repetitions=1 --output compared > compared.txt || exit 8\n"
            "$mpirun 3" +
            run +
            "near --set solver.initial=full-multigrid || exit 8\n"
            "cat compared.txt\n" +
            show("one") + show("two") + show("four") + show("loads") + show("near"));
  INFO(result.out.substr(0, 2000), result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json one = record_of(result, "one");
  CHECK(one["hierarchy"].size() == 4);
  for (const std::string name : {"two", "four", "loads"}) {
    const nlohmann::json several = record_of(result, name);
    CAPTURE(name);
    CHECK(several["hierarchy"].size() >= 4);
    for (std::size_t level = 0; level < 3; ++level)
      CHECK(several["hierarchy"][level]["unknowns"] == one["hierarchy"][level]["unknowns"]);
    CHECK(several["solve"]["reason"] == "converged");
    const double systems = several.contains("loads") ? 2 : 1;  // iterations are summed
    CHECK(std::abs(number(one, "/solve/iterations") - number(several, "/solve/iterations") / systems) <= 2);
  }
  const nlohmann::json near = record_of(result, "near");
  CHECK(number(near, "/solve/iterations") < number(one, "/solve/iterations"));
  CHECK(contains(near["remarks"].dump(), "CG began from full multigrid's approximation"));
  for (const char* path : {"/quantities/integral", "/quantities/maximum", "/quantities/flux/left"})
    for (const char* name : {"two", "four", "near"})
      CHECK(number(record_of(result, name), path) == doctest::Approx(number(one, path)).epsilon(1e-8));
}

TEST_CASE("several processes coarsen boxes as one does, whose cuts they place for it" * needs_mpi()) {
  const std::string box =
      "mesh: {box: {cells: [401, 400], cell: quadrilateral, distort: 0.2}}\n"
      "degree: 1\n"
      "equation: {diffusion: \"1 + 9*x\", source: 1}\n"
      "boundary: {left: {value: \"y\"}, right: {transfer: 2, ambient: 1}}\n"
      "solver: {preconditioner: multigrid, tolerance: 1e-10, device: cpu}\noutput: {vtu: false}\n";
  const std::array<nlohmann::json, 4> records = records_of_1_to_4(box);
  const nlohmann::json& one = records.front();
  for (std::size_t processes = 2; processes <= records.size(); ++processes) {
    CAPTURE(processes);
    const nlohmann::json& several = records[processes - 1];
    REQUIRE(several["hierarchy"].size() == one["hierarchy"].size());
    for (std::size_t level = 0; level < one["hierarchy"].size(); ++level)
      for (const char* key : {"kind", "unknowns"})
        CHECK(several["hierarchy"][level][key] == one["hierarchy"][level][key]);
    CHECK(number(several, "/solve/iterations") <= number(one, "/solve/iterations") + 1);
    for (const char* path : {"/quantities/integral", "/quantities/maximum", "/quantities/flux/left"})
      CHECK(number(several, path) == doctest::Approx(number(one, path)).epsilon(1e-8));
  }
}

TEST_CASE("islands that conduct well, cut by the borders between processes, cost no iterations" * needs_mpi()) {
  const std::string islands =
      "mesh: {box: {cells: [12, 12, 6], cell: hexahedron}}\n"
      "degree: 2\n"
      "equation: {diffusion: \"abs(x-0.5) < 0.3 && abs(y-0.5) < 0.3 && abs(x-0.5) > 0.08 ? 1e6 : 1\", source: x}\n"
      "boundary: {left: {value: 1}, right: {transfer: 2, ambient: 0}}\n"
      "solver: {preconditioner: multigrid, tolerance: 1e-8, device: cpu, max_iterations: 60}\noutput: {vtu: false}\n";
  const std::array<nlohmann::json, 4> records = records_of_1_to_4(islands);
  const nlohmann::json& one = records.front();
  for (std::size_t processes = 2; processes <= records.size(); ++processes) {
    CAPTURE(processes);
    const nlohmann::json& several = records[processes - 1];
    CHECK(number(several, "/solve/iterations") <= number(one, "/solve/iterations") + 3);
    for (const char* path : {"/quantities/integral", "/quantities/maximum", "/quantities/flux/left"})
      CHECK(number(several, path) == doctest::Approx(number(one, path)).epsilon(1e-7));
  }
}

TEST_CASE("several processes begin from the solution of one" * needs_mpi()) {
  const Result result = shell(prepare + tests::file("square.yaml", square) +
                              "$femcg run square.yaml --quiet --output one || exit 8\n"
                              "$mpirun 3 $femcg run square.yaml --quiet --output again --set solver.initial=one "
                              "--set degree=3 --set solver.tolerance=1e-4 || exit 8\n"
                              "$mpirun 3 $femcg run square.yaml --quiet --output there --set solver.initial=one\n" +
                              show("again") + show("there"));
  INFO(result.err);
  REQUIRE(result.status == 0);
  CHECK(number(record_of(result, "there"), "/solve/iterations") <= 5);
  CHECK(contains(record_of(result, "again")["remarks"].dump(), "CG began from the solution in one"));
}

TEST_CASE("what a process holds falls with their number" * needs_mpi()) {
  const std::string cube =
      "mesh: {box: {cells: [24, 24, 24], cell: hexahedron}}\ndegree: 3\nequation: {source: 1}\n"
      "boundary: {all: {value: 0}}\nsolver: {operator: matrix-free, max_iterations: 5}\noutput: {vtu: false}\n";
  const std::string small = " --set mesh.box.cells=[2,2,2]";
  const Result result = shell(prepare + tests::file("cube.yaml", cube) +
                              "for n in 2 6; do $mpirun $n $femcg run cube.yaml --quiet --output of_$n; $mpirun $n "
                              "$femcg run cube.yaml --quiet --output small_$n" +
                              small + "; done\n" + show("of_2") + show("of_6") + show("small_2") + show("small_6"));
  INFO(result.err);
  const auto most = [&](const std::string& name) {
    double bytes = 0;
    const nlohmann::json record = record_of(result, name);
    for (const nlohmann::json& process : record["processes"])
      bytes = std::max(bytes, number(process, "/peak_memory_bytes"));
    return bytes;
  };
  const double of_2 = most("of_2") - most("small_2"), of_6 = most("of_6") - most("small_6");
  CHECK(of_2 > 0);
  CHECK(of_6 < 0.5 * of_2);  // a third, and the interface
}

TEST_CASE("operators by default, several loads, single precision, floating parts, more processes than cells" *
          needs_mpi()) {
  const std::string loads = "loads: {a: {}, b: {source: 2}}\n";
  const std::string neumann =
      "mesh: {box: {cells: [2, 1], cell: triangle}}\nequation: {source: \"x - 0.5\"}\nsolver: {tolerance: 1e-6}\n";
  const std::string without_exact = square.substr(0, square.find("exact")) + loads;
  const Result result =
      shell(prepare + tests::file("loads.yaml", without_exact) + tests::file("neumann.yaml", neumann) +
            "$mpirun 2 $femcg run loads.yaml --quiet --output loads --operator auto --set "
            "solver.preconditioner=chebyshev --set solver.cg=classic || exit 8\n"
            "$femcg run loads.yaml --quiet --output loads_of_one --set solver.cg=classic || exit 8\n"
            "$mpirun 3 $femcg run loads.yaml --quiet --output at_once --set solver.cg=batched || exit 8\n"
            "$mpirun 3 $femcg run loads.yaml --quiet --output block || exit 8\n"
            "$mpirun 6 $femcg run neumann.yaml --output neumann --set solver.precision=single || exit 8\n" +
            show("loads") + show("loads_of_one") + show("at_once") + show("block") + show("neumann"));
  INFO(result.out.substr(0, 3000), result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json of_loads = record_of(result, "loads"), of_one = record_of(result, "loads_of_one");
  const nlohmann::json at_once = record_of(result, "at_once"), block = record_of(result, "block");
  double most = 0;
  for (int load = 0; load < 2; ++load) {
    for (const nlohmann::json& several : {of_loads, at_once, block})
      CHECK(number(several["loads"][load], "/quantities/integral") ==
            doctest::Approx(number(of_one["loads"][load], "/quantities/integral")).epsilon(1e-8));
    CHECK(std::abs(number(at_once["loads"][load], "/solve/iterations") -
                   number(of_one["loads"][load], "/solve/iterations")) <= 1);
    most = std::max(most, number(at_once["loads"][load], "/solve/iterations"));
  }
  CHECK(at_once["solve"]["cg"] == "batched");
  CHECK(block["solve"]["cg"] == "block");  // for two loads on processors, as with one process
  CHECK(number(block["loads"][0], "/solve/iterations") < number(at_once["loads"][0], "/solve/iterations"));
  CHECK(number(at_once["processes"][0], "/products") <= most + 15);  // one for both, and timed ones
  CHECK(of_loads["operator"]["requested"] == "auto");
  CHECK(!of_loads["operator"]["why"].get<std::string>().empty());
  CHECK(record_of(result, "neumann")["processes"][5]["cells"] == 0);
  const std::string told = "in the loop: ";  // printed by one process
  CHECK(contains(result.out, told));
  CHECK(result.out.find(told) == result.out.rfind(told));
}

TEST_CASE("settings that several processes try, mixed precision and one sum an iteration lead to the same solution" *
          needs_mpi()) {
  const std::string run = "$femcg run square.yaml --device cpu --quiet --set output.vtu=false --output ";
  const std::string tuned = "tuned --operator sell --set solver.tune=on --set degree=4";
  const Result result = shell(prepare + tests::file("square.yaml", square) + run + "one_tuned --set degree=4\n" + run +
                              "one\n$mpirun 3 " + run + tuned + " || exit 8\n$mpirun 2 " + run +
                              "mixed --operator csr --set solver.precision=mixed || exit 8\n$mpirun 3 " + run +
                              "pipelined --operator csr --set solver.cg=pipelined || exit 8\n" + show("one") +
                              show("one_tuned") + show("tuned") + show("mixed") + show("pipelined"));
  INFO(result.out.substr(0, 3000), result.err);
  REQUIRE(result.status == 0);
  for (const char* name : {"tuned", "mixed", "pipelined"}) {
    CAPTURE(name);
    const nlohmann::json several = record_of(result, name),
                         one = record_of(result, name == std::string("tuned") ? "one_tuned" : "one");
    CHECK(number(several, "/solve/true_relative_residual") <= 1e-10);
    for (const char* path : {"/quantities/integral", "/quantities/maximum", "/error/l2"})
      CHECK(number(several, path) == doctest::Approx(number(one, path)).epsilon(1e-8));
  }
  const nlohmann::json tuning = record_of(result, "tuned").at("tuning");
  INFO(tuning.dump());
  CHECK(tuning.at("requested") == "on");
  CHECK(tuning.at("tried").size() >= 2);
  CHECK(std::abs(number(record_of(result, "tuned"), "/solve/iterations") -
                 number(record_of(result, "one_tuned"), "/solve/iterations")) <= 1);
  CHECK(record_of(result, "pipelined")["solve"]["cg"] == "pipelined");
  CHECK(record_of(result, "mixed")["operator"]["precision"] == "mixed");
}

TEST_CASE("several processes solve the points of a study, and one that fails on all is left out" * needs_mpi()) {
  const std::string study = square.substr(0, square.find("output")) +
                            "output: {vtu: false}\nsweep: {degree: [1, 2], solver.operator: [csr, matrix-free], "
                            "boundary.left.value: [y, 2*y]}\n";
  const std::string failing =
      "--set solver.precision=single --set solver.tolerance=1e-5 --set 'sweep={equation.diffusion: [1, "
      "1e-42, 2]}' --output failing";
  const Result result = shell(prepare + tests::file("study.yaml", study) +
                              "$femcg run study.yaml --device cpu --quiet --output one || exit 8\n" +
                              "$mpirun 3 $femcg run study.yaml --device cpu --quiet --output three || exit 8\n" +
                              "$mpirun 2 $femcg run study.yaml --device cpu --quiet " + failing +
                              "; echo status $?\nls three\n" + show("one") + show("three") + show("failing"));
  INFO(result.out.substr(0, 3000), result.err);
  REQUIRE(result.status == 0);
  CHECK(contains(result.out, "status 1\ncase.yaml\nresult."));
  const nlohmann::json one = record_of(result, "one")["points"], three = record_of(result, "three")["points"];
  REQUIRE(one.size() == 8);
  REQUIRE(three.size() == 8);
  for (std::size_t i = 0; i < one.size(); ++i) {
    INFO(three[i].dump());
    CHECK(three[i].at("values") == one[i].at("values"));
    CHECK(std::abs(number(one[i], "/solve/iterations") - number(three[i], "/solve/iterations")) <= 1);
    CHECK(number(three[i], "/quantities/integral") ==
          doctest::Approx(number(one[i], "/quantities/integral")).epsilon(1e-8));
  }
  const nlohmann::json failed = record_of(result, "failing")["points"];
  REQUIRE(failed.size() == 3);
  CHECK(failed[0].contains("solve"));
  CHECK(contains(failed[1]["failure"].get<std::string>(), "the diagonal of the matrix leaves them"));
  CHECK(failed[2].contains("solve"));
}

TEST_CASE("auto takes on several processes what it takes on one" * needs_mpi()) {
  const Result result = shell(prepare + tests::file("square.yaml", square) +
                              "run='$femcg run square.yaml --device cpu --quiet --set degree=3 --set mesh.refine=2 "
                              "--set output.vtu=false --operator'\n"
                              "eval $mpirun 2 $run auto --output auto || exit 8\n"
                              "eval $run auto --output one || exit 8\n" +
                              show("auto") + show("one"));
  INFO(result.out.substr(0, 3000), result.err);
  REQUIRE(result.status == 0);
  const nlohmann::json automatic = record_of(result, "auto"), one = record_of(result, "one");
  CHECK(automatic["operator"]["requested"] == "auto");
  CHECK(automatic["operator"]["name"] == "matrix-free");
  CHECK(automatic["operator"]["why"] == one["operator"]["why"]);
  CHECK(number(automatic, "/solve/true_relative_residual") <= 1e-10);
  CHECK(std::abs(number(one, "/solve/iterations") - number(automatic, "/solve/iterations")) <= 1);
  CHECK(number(automatic, "/error/l2") == doctest::Approx(number(one, "/error/l2")).epsilon(1e-8));
}

TEST_CASE("VTK reads the pieces as one grid" * needs_mpi()) {
  if (std::string(FEMCG_VTK_PYTHON).empty()) FAIL("no Python can import vtk; on Debian: apt install python3-vtk9");
  const std::string light =
      "--set output.degree=1 --set 'output.subset={regions: [box], box: {max: [0.6, 2]}}' || exit 8\n";
  const Result result = shell(prepare + tests::file("square.yaml", square) +
                              "$mpirun 3 $femcg run square.yaml --quiet --output three || exit 8\n"
                              "$mpirun 3 $femcg run square.yaml --quiet --output light " +
                              light + "$femcg run square.yaml --quiet --output light_one " + light +
                              "$femcg run square.yaml --quiet --output one || exit 8\n" + FEMCG_VTK_PYTHON +
                              " - <<'end of script'\n" + R"(
import vtk
def read(reader, name):
    reader.SetFileName(name)
    reader.Update()
    return reader.GetOutput()
one = read(vtk.vtkXMLUnstructuredGridReader(), "one/solution.vtu")
three = read(vtk.vtkXMLPUnstructuredGridReader(), "three/solution.pvtu")
light = read(vtk.vtkXMLPUnstructuredGridReader(), "light/solution.pvtu")
light_one = read(vtk.vtkXMLUnstructuredGridReader(), "light_one/solution.vtu")
boundary = read(vtk.vtkXMLPUnstructuredGridReader(), "three/boundary.pvtu")
boundary_of_one = read(vtk.vtkXMLUnstructuredGridReader(), "one/boundary.vtu")
def outflows(of):  # of each group, from its facets' nodes
    sums = {}
    for c in range(of.GetNumberOfCells()):
        cell, group = of.GetCell(c), of.GetCellData().GetArray("group").GetValue(c)
        values = [of.GetPointData().GetArray("normal_flux").GetValue(cell.GetPointId(i)) for i in range(3)]
        length = sum((a - b) ** 2 for a, b in zip(of.GetPoint(cell.GetPointId(0)), of.GetPoint(cell.GetPointId(1)))) ** 0.5
        sums[group] = sums.get(group, 0) + length * (values[0] + values[1] + 4 * values[2]) / 6
    return sums
flows, flows_of_one = outflows(boundary), outflows(boundary_of_one)
print(boundary.GetNumberOfCells(), boundary_of_one.GetNumberOfCells(), sorted(flows) == sorted(flows_of_one), max(abs(flows[g] - flows_of_one[g]) for g in flows) < 1e-8)
values = {tuple(round(x, 9) for x in one.GetPoint(i)): one.GetPointData().GetArray("u").GetValue(i) for i in range(one.GetNumberOfPoints())}
def difference(of):
    return max(abs(values[tuple(round(x, 9) for x in of.GetPoint(i))] - of.GetPointData().GetArray("u").GetValue(i)) for i in range(of.GetNumberOfPoints()))
largest = max(map(difference, (three, light, light_one)))
print(0 < light.GetNumberOfCells() == light_one.GetNumberOfCells() < 42, light.GetCellType(0), light.GetBounds()[1] < 0.8)
print(three.GetNumberOfCells(), one.GetNumberOfCells(), three.GetCellData().GetArray("process").GetRange(), largest < 1e-8)
end of script
)");
  INFO(result.err);
  CHECK(result.out == "26 26 True True\nTrue 9 True\n42 42 (0.0, 2.0) True\n");
}

TEST_CASE("the model of several processes adds up what cells, messages and sums take") {
  // The second process has 4 of 10 cells, 3 at the interface, and 12 of 20 unknowns, and sends 8 values to 2 others.
  const std::vector<femcg::operators::SubdomainSize> surfaces{
      {.cells = 3, .interface_cells = 1, .unknowns = 10, .sent = 4, .neighbours = 1},
      {.cells = 4, .interface_cells = 3, .unknowns = 12, .sent = 8, .neighbours = 2},
      {.cells = 3, .interface_cells = 1, .unknowns = 10, .sent = 4, .neighbours = 1},
      {}};
  const femcg::solver::OneProcess one{.product = 10, .passes = 5};
  const femcg::operators::SubdomainSize whole{.cells = 10, .unknowns = 20};
  femcg::solver::MessageRates messages{.latency = 0.5, .bytes_per_second = 32, .sum = 0.25};
  const auto found = femcg::solver::predict_scaling(one, whole, surfaces, 8, messages);
  CHECK(found.exchange == doctest::Approx(2 * 0.5 + 8 * 8 / 32.0));
  CHECK(found.sums == doctest::Approx(2 * 0.25 * 2));
  CHECK(found.vector == doctest::Approx(3 + 1 + 3 + 3 + 1));  // interface, interior, exchange, vector kernels, sums
  CHECK(found.beside == doctest::Approx(3 + 3 + 3 + 1));      // the interior takes 1 during the exchange's 3
  CHECK(contains(femcg::solver::to_text(one, std::vector{found}, messages.device), "1.50        38%"));

  // GPUs send to all neighbours at once, and their latency is that of kernels. Size-independent parts: 2 of the
  // product's 10, per launch, and 1 of the vector kernels' 5.
  messages.device = femcg::operators::Device::cuda;
  const femcg::solver::OneProcess launched{.product = 10, .passes = 5, .product_start = 2, .passes_start = 1};
  const auto gpus = femcg::solver::predict_scaling(launched, whole, surfaces, 8, messages);
  const double interface = 2 + 8 * 0.3, interior = 2 + 8 * 0.1, passes = 1 + 4 * 0.6;
  CHECK(gpus.exchange == doctest::Approx(0.5 + 2));
  CHECK(gpus.vector == doctest::Approx(interface + interior + 2.5 + passes + 1));
  CHECK(gpus.beside == doctest::Approx(interface + 0.5 + interior + passes + 1));
}

TEST_CASE("predict --processes says what more processes take, and needs two to measure messages" * needs_mpi()) {
  const std::string predict = "$femcg predict square.yaml --processes ";
  const Result result = shell(prepare + tests::file("square.yaml", square) + "$mpirun 2 " + predict + "1,2,8");
  INFO(result.out, result.err);
  CHECK(result.status == 0);
  CHECK(lines(result.out) == 7);
  CHECK(contains(result.out, "between two: latency "));
  CHECK(contains(result.out, "\n          1         42        182         0"));
  const std::string before = tests::file("square.yaml", square);
  tests::check_refused("predict square.yaml --processes 2", "start mpirun -n 2 femcg predict", before);
  const Result numbered = shell(prepare + before + "$mpirun 2 " + predict + "2 --device cuda:0");
  CHECK(numbered.status == 2);
  CHECK(contains(numbered.err, "device: cuda:0 is for one process; use device: cuda"));
  tests::check_refused("predict square.yaml --processes 2,0", "--processes must be whole numbers from 1", before);
  tests::check_refused("predict square.yaml --processes 2 --measure", "leave out the other options", before);
}

TEST_CASE("what several processes do not have is refused with a sentence and status 2" * needs_mpi()) {
  const auto check_refused = [](const std::string& command, const std::string& part) {
    const Result result = shell(prepare + tests::file("square.yaml", square) + command);
    INFO(command, result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    const std::size_t at = result.err.find(part);
    REQUIRE(at != std::string::npos);
    CHECK(result.err.find(part, at + 1) == std::string::npos);  // printed once
  };
  const std::string run = "$mpirun 2 $femcg run square.yaml --output here ";
  check_refused(run + "--set output.fields=[flux]", "output.fields with more than u is for one process");
  check_refused(run + "--set output.system=true", "output.system is for one process; leave it out");
  if (femcg::solver::built_with_hypre())
    check_refused(run + "--set solver.preconditioner=boomeramg", "boomeramg works in one process");
  check_refused(run + "--device cuda:0", "device: cuda:0 is for one process; use device: cuda");
  check_refused("PMI_RANK=0 PMI_SIZE=3 $femcg run square.yaml", "3 processes were started together, of which");
  check_refused(
      "$mpirun 2 $femcg list",
      "2 processes were started together, and only femcg run, compare, matrix and predict --processes take several");
  check_refused("$mpirun 2 $femcg compare square.yaml --set compare.devices=[cpu,cuda]",
                "compare.devices with several is for one process; name one, such as --device cpu");
  check_refused(
      "$mpirun 1 $femcg run square.yaml --output here : -n 1 $femcg run square.yaml --output here --set degree=3",
      "process 1 has another case than process 0");
}

TEST_CASE("several processes compare operators, each made from its cells and held against the reference" *
          needs_mpi_on_any_device()) {
  const std::string compare = "$femcg compare square.yaml --iterations 20 --repetitions 2 --quiet --device " +
                              std::string(on_gpu() ? "cuda" : "cpu") + " --operators ";
  const auto rows_of = [&](const std::string& command) {
    const Result result =
        shell(prepare + tests::file("square.yaml", square) + command + " --output made\ncat made/compare.json");
    INFO(command, result.err);
    REQUIRE(result.status == 0);
    return nlohmann::json::parse(result.out);
  };
  const std::string operators = "csr,sell,ellpack,lma-gather,lma-atomic,matrix-free";
  const nlohmann::json alone = rows_of(compare + operators), rows = rows_of("$mpirun 3 " + compare + operators);
  REQUIRE(rows.size() == 6);
  int choices = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].dump());
    CHECK(rows[i].at("comparison").at("status") == "timed");
    CHECK(rows[i].at("operator").at("name") == alone[i].at("operator").at("name"));
    CHECK(number(rows[i], "/problem/unknowns") == number(alone[i], "/problem/unknowns"));
    CHECK(number(rows[i], "/comparison/agreement") <= number(rows[i], "/comparison/agreement_bound"));
    // A row's terms are summed in another order; the bound grows with the number of parts.
    CHECK(number(rows[i], "/comparison/agreement_bound") < 10 * number(alone[i], "/comparison/agreement_bound"));
    CHECK(rows[i].at("processes").size() == 3);
    CHECK(rows[i].at("comparison").at("repetitions") == 2);
    CHECK(number(rows[i], "/comparison/predicted_product_seconds") > 0);
    choices += rows[i].at("comparison").contains("auto") ? 1 : 0;
  }
  CHECK(choices == 1);
  for (const char* method : {"", " --set solver.cg=block"}) {
    const nlohmann::json several = rows_of("$mpirun 2 " + compare + "csr,matrix-free --right-hand-sides 1,8" + method);
    REQUIRE(several.size() == 4);
    for (const nlohmann::json& row : several) CHECK(row.at("comparison").at("status") == "timed");
    CHECK(number(several[1], "/memory/estimated_host_bytes") > number(several[0], "/memory/estimated_host_bytes"));
  }
  const nlohmann::json swept =
      rows_of("$mpirun 2 " + compare + "csr --set 'compare.sweep={degree: [1, 3], precision: [single, double]}'");
  REQUIRE(swept.size() == 4);
  CHECK(number(swept[0], "/problem/unknowns") < number(swept[3], "/problem/unknowns"));
  for (const nlohmann::json& row : swept) CHECK(row.at("comparison").at("status") == "timed");
}

TEST_CASE("several processes compare operators on a matrix, of which each has rows" * needs_mpi_on_any_device()) {
  const std::string device = on_gpu() ? "cuda" : "cpu";
  const std::string matrix = "$femcg matrix $matrices/laplace.mtx --iterations 10 --repetitions 2 --quiet --device " +
                             device + " --output made --operators csr,sell,ellpack,jad ";
  const auto rows_of = [&](const std::string& command) {
    const Result result = shell(prepare + command + "\ncat made/compare.json");
    INFO(command, result.err);
    REQUIRE(result.status == 0);
    return nlohmann::json::parse(result.out);
  };
  const nlohmann::json alone = rows_of(matrix), rows = rows_of("$mpirun 3 " + matrix);
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(rows[i].dump());
    CHECK(rows[i].at("comparison").at("status") == "timed");
    CHECK(rows[i].at("comparison").contains("iteration_seconds") ==
          alone[i].at("comparison").contains("iteration_seconds"));
    CHECK(rows[i].at("operator").at("name") == alone[i].at("operator").at("name"));
    CHECK(rows[i].at("matrix") == alone[i].at("matrix"));
    CHECK(number(rows[i], "/problem/unknowns") == number(alone[i], "/problem/unknowns"));
    CHECK(number(rows[i], "/comparison/agreement") <= number(rows[i], "/comparison/agreement_bound"));
    CHECK(rows[i].at("distribution").at("partition") == "rows");
    double unknowns = 0;
    for (const nlohmann::json& process : rows[i].at("processes")) unknowns += number(process, "/rows");
    CHECK(unknowns == number(alone[i], "/problem/unknowns"));
  }
  const nlohmann::json several = rows_of("$mpirun 2 " + matrix + "--precision single,double --right-hand-sides 1,3 " +
                                         "--order reverse-cuthill-mckee");
  REQUIRE(several.size() == 16);
  for (const nlohmann::json& row : several) CHECK(row.at("comparison").at("status") == "timed");
  if (on_gpu()) return;
  const Result skew = shell(prepare +
                            "$mpirun 2 $femcg matrix $matrices/skew.mtx "
                            "--iterations 5 --repetitions 1 --device cpu --operators csr --output made");
  CHECK(skew.status == 0);
  CHECK(contains(skew.err, "products only, no CG: the matrix is not symmetric"));
  const Result missing = shell(prepare + "$mpirun 2 $femcg matrix none.mtx --operators csr --output made");
  CHECK(missing.status == 2);
  const std::size_t at = missing.err.find("none.mtx");
  REQUIRE(at != std::string::npos);
  CHECK(missing.err.find("none.mtx", at + 1) == std::string::npos);  // printed once
}

TEST_CASE("more processes than GPUs end with the counts, or share one, or run on processors" * needs_mpi_on_gpu()) {
  const std::string run = "CUDA_VISIBLE_DEVICES=0 $mpirun 2 $femcg run square.yaml --output here --device ";
  const std::string before = prepare + tests::file("square.yaml", square);
  const Result refused = shell(before + run + "cuda");
  CHECK(refused.status == 2);
  CHECK(
      contains(refused.err,
               "2 processes have 1 GPU, and 2 would share one: start fewer, or use distribution.processes_per_gpu: 2"));
  const Result shared = shell(before + run + "cuda --set distribution.processes_per_gpu=2");
  INFO(shared.out, shared.err);
  CHECK(shared.status == 0);
  CHECK(contains(shared.out, "through the hosts' memory"));
  const Result left = shell(before + run + "auto");
  CHECK(left.status == 0);
  CHECK(contains(left.out, "2 processes have 1 GPU (see distribution.processes_per_gpu)"));
  const Result task = shell(before + run + "cuda --set distribution.processes_per_gpu=2 --set distribution.mode=task");
  CHECK(task.status == 2);
}

TEST_CASE("a process that fails or is killed ends all" * needs_mpi()) {
  const std::string large =
      "--set mesh.box.cells=[500,500] --set solver.tolerance=1e-14 --set solver.max_iterations=1000000";
  SUBCASE("by a failure of its own: its sentence and its status") {
    const Result result = shell(prepare + tests::file("square.yaml", square) +
                                "timeout 30 $mpirun 1 $femcg run square.yaml --quiet --output here " + large +
                                " : -n 1 bash -c 'cd /; exec '$femcg' run square.yaml --quiet --output here'\n");
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "process 1: "));
    CHECK(contains(result.err, "square.yaml"));
  }
  SUBCASE("killed") {
    const Result result = shell(prepare + tests::file("square.yaml", square) +
                                "timeout 30 $mpirun 2 bash -c '[[ $OMPI_COMM_WORLD_RANK != 1 ]] || { sleep 1; kill -9 "
                                "$$; } & exec '$femcg' run "
                                "square.yaml --quiet --output here " +
                                large + "'\n");
    INFO(result.err);
    CHECK(result.status == 128 + 9);
  }
}

TEST_CASE("a build without MPI says so, once" * doctest::skip(!without_mpi())) {
  const std::string of_two = "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=";
  const Result first = shell(tests::file("square.yaml", square) + of_two + "0 $femcg run square.yaml");
  CHECK(first.status == 2);
  CHECK(first.err == "2 processes were started together, and this femcg was built without MPI: start one\n");
  const Result second = shell(tests::file("square.yaml", square) + of_two + "1 $femcg run square.yaml");
  CHECK(second.status == 2);
  CHECK(second.err.empty());
}

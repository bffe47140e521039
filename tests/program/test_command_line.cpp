// The built program as seen by its user: output and exit status.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "operators/catalogue.hpp"
#include "solver/coefficients/expression.hpp"
#include "solver/preconditioners/preconditioners.hpp"
#include "tests/program.hpp"

namespace fs = std::filesystem;
using namespace femcg::tests;

namespace {

const std::string cases = (source_directory() / "tests/cases/").string();

}  // namespace

TEST_CASE("--version and --help go to standard output") {
  for (const char* arguments : {"--version", "run --version", "compare --version"}) {
    const Result result = program_run(arguments);
    CHECK(result.status == 0);
    CHECK(result.out.starts_with("femcg "));
    CHECK(std::isdigit(static_cast<unsigned char>(result.out[6])));
    CHECK(lines(result.out) == 1);
    CHECK(result.err.empty());
  }
  const Result help = program_run("--help");
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  for (const char* command :
       {"run", "compare", "matrix", "report", "check", "list", "info", "init", "schema", "completion", "manual"})
    CHECK(contains(help.out, command));
  for (const char* command : {"run", "check"}) {
    const Result of_command = program_run(std::string(command) + " --help");
    CHECK(of_command.status == 0);
    for (const char* option : {"CASE", "--set", "--operator", "--device", "--threads", "--output", "--quiet",
                               "--no-progress", "--version", "--help"})
      CHECK_MESSAGE(contains(of_command.out, option), option);
  }
}

TEST_CASE("a wrong command line is one line and status 2") {
  check_refused(
      "",
      "a command is missing: run, compare, matrix, predict, report, mesh, check, list, info, init, schema, completion "
      "or manual");
  check_refused("rnu case.yaml", "unknown command 'rnu'; did you mean 'run'?");
  check_refused("chek --operator csr", "unknown command 'chek'; did you mean 'check'?");
  check_refused("run", "a case file is missing");
  check_refused("run $cases/minimal.yaml --operater csr", "unknown option '--operater'; did you mean '--operator'?");
  check_refused("run --opertor=csr $cases/minimal.yaml", "unknown option '--opertor'; did you mean '--operator'?");
  check_refused("--quite", "unknown option '--quite'");
  check_refused("run $cases/minimal.yaml second.yaml", "one argument too many: 'second.yaml'");
  check_refused("list operators cells", "one argument too many: 'cells'");
  check_refused("list operator", "unknown topic 'operator'; did you mean 'operators'?");
  check_refused("run $cases/minimal.yaml --set", "--set");
  check_refused("run $cases/minimal.yaml --set degree", "'degree' has no '='");
  check_refused("run $cases/minimal.yaml --threads two", "--threads must be a whole number from 1, not");
  check_refused("run $cases/minimal.yaml --threads 0", "--threads must be a whole number from 1, not");
  check_refused("run $cases/minimal.yaml --threads ''", "--threads");
  check_refused("run $cases/minimal.yaml --output ''", "--output");
}

TEST_CASE("a wrong case is one line a problem, placed, and status 2") {
  const Result result = program_run("check $cases/mistakes.yaml");
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines(result.err) == 10);
  CHECK(contains(result.err, cases + "/mistakes.yaml:6:9: degree must be a whole number from 1 to 4, not 'two'\n"));
  CHECK(program_run("run $cases/mistakes.yaml").err == result.err);
  check_refused("run absent.yaml", "absent.yaml: there is no such file");
  check_refused("run .", ".: this is a directory");
  for (const std::string command : {"run", "check", "compare"})
    check_refused(command + " part.step",
                  "part.step: this is a .step file, not a case; femcg init part.step writes a case with it",
                  "echo > part.step");
  check_refused("run $cases/minimal.yaml --set degree=9", "--set degree: degree must be");
  check_refused("run $cases/minimal.yaml --operator cssr", "--operator: unknown operator 'cssr'; did you mean 'csr'?");
  check_refused("check $cases/minimal.yaml --device gpu",
                "--device: solver.device must be auto, cpu, cuda, or a GPU by its number such as cuda:1, not 'gpu'");
  check_refused("check $cases/minimal.yaml --set $'title=[a\\nb'", "--set title: this is not valid YAML");
  CHECK(program_run("check $cases/minimal.yaml --set degre=2 --set degree=7").err ==
        "--set degre: unknown key 'degre'; did you mean 'degree'?\n"
        "--set degree: degree must be a whole number from 1 to 4, not '7'\n");
}

TEST_CASE("check prints a case that checks to itself") {
  const Result first =
      program_run("check $cases/minimal.yaml --set mesh.box.cells=[8,8] --set degree=2 --output 'a: b'");
  CHECK(first.status == 0);
  CHECK(first.err.empty());
  CHECK(contains(first.out, "degree: 2\nquadrature: 3\n"));
  CHECK(contains(first.out, "cells: [8, 8]"));
  CHECK(contains(first.out, "directory: \"a: b\""));
  const Result second = shell(
      "$femcg check --set mesh.box.cells=[8,8] $cases/minimal.yaml --set degree=2 --output 'a: b' > "
      "minimal.yaml && $femcg check minimal.yaml");
  CHECK(second.status == 0);
  // Followed by the free memory, which varies.
  const auto the_case = [](const Result& of) { return of.out.substr(0, of.out.find("# Memory")); };
  CHECK(the_case(second) == the_case(first));
  CHECK(program_run("check --quiet $cases/minimal.yaml").out.empty());
}

TEST_CASE("run says by its status whether it converged") {
  const std::string run = "$femcg run $cases/minimal.yaml --set equation.source=1 --set mesh.box.cells=[20,20]";
  const Result good = shell(run + " --quiet && ls results/minimal");
  CHECK(good.status == 0);
  CHECK(good.err.empty());
  CHECK(good.out == "case.yaml\nresiduals.csv\n" + result_page + "result.json\nrun.log\nsolution.vtu\n");
  const Result elsewhere = shell(run + " --threads 1 --output 'a b/c' && ls 'a b/c' | wc -l && ls results");
  CHECK(contains(elsewhere.out, result_page.empty() ? "\n5\n" : "\n6\n"));
  CHECK(contains(elsewhere.err, "results"));
  const Result early = shell(run + " --set solver.max_iterations=1");
  CHECK(early.status == 1);
  CHECK(contains(early.out, "max_iterations"));
  check_refused("run $cases/minimal.yaml --set 'equation.source=1/(x-x)'",
                "--set equation.source: 1/(x-x) is not finite");
  check_refused("run $cases/minimal.yaml --set boundary.lfet.value=1", "--set boundary.lfet");
  const Result without_vtu = shell(run + " --quiet && " + run + " --quiet --set output.vtu=false; ls results/minimal");
  CHECK(without_vtu.out ==
        "case.yaml\nresiduals.csv\n" + result_page + "result.json\nrun.log\n");  // nothing of the previous run
  const Result nowhere = shell(run + " --output /dev/null/here");
  CHECK(nowhere.status == 3);
  CHECK(nowhere.out.empty());
  CHECK(nowhere.err == "femcg: cannot make the results folder '/dev/null/here': Not a directory\n");
}

TEST_CASE("numbers that a precision cannot hold are blamed on it, not on the matrix") {
  const std::string run = "run $cases/minimal.yaml --operator csr --set equation.source=1 --set solver.precision=";
  const std::string single = "solver.precision: single precision holds numbers from 1.2e-38 to 3.4e+38, and ";
  for (const char* diffusion : {"1e-60", "1e60", "1e-40", "1e38"})
    check_refused(run + "single --set equation.diffusion=" + diffusion,
                  single + "the diagonal of the matrix leaves them; take double, or scale");
  check_refused(run + "double --set equation.diffusion=1e-320",
                "solver.precision: double precision holds numbers from 2.2e-308 to 1.8e+308, and the diagonal");
  for (const char* numbers : {"single --set equation.diffusion=1e-30", "single --set equation.diffusion=1e30",
                              "double --set equation.diffusion=1e-60", "double --set equation.diffusion=1e-250"})
    CHECK_MESSAGE(program_run(run + numbers).status == 0, numbers);
  const Result compared = shell(
      "$femcg compare $cases/minimal.yaml --set equation.source=1 --set "
      "equation.diffusion=1e-60 --set solver.precision=single --operators csr,matrix-free");
  CHECK(compared.status == 2);
  CHECK(contains(compared.err, single + "the diagonal of the matrix leaves them"));
  CHECK_FALSE(contains(compared.out, "disagrees"));
}

TEST_CASE("a load of any size has its solution, and what is called converged is") {
  const auto solved = [](const std::string& numbers, const std::string& case_file = "minimal.yaml") {
    const Result run = shell("$femcg run $cases/" + case_file + " --output results --set " + numbers +
                             " > /dev/null && cat results/result.json");
    REQUIRE_MESSAGE(run.status == 0, numbers, ": ", run.err);
    const auto record = nlohmann::json::parse(run.out);
    CHECK(record["solve"]["reason"] == "converged");
    CHECK(record["solve"]["true_relative_residual"].get<double>() <= 1e-8);
    return record["quantities"]["maximum"].get<double>();
  };
  const double one = solved("equation.source=1");
  REQUIRE(one > 0);
  for (const double size : {1e-60, 1e-158, 1e-160, 1e-280, 1e60, 1e200, 1e280})
    for (const char* precision : {"single", "double"})
      CHECK(solved(fmt::format("equation.source={} --set solver.precision={}", size, precision)) / size ==
            doctest::Approx(one).epsilon(1e-7));
  const double small = solved("equation.source=1 --set mesh.box.size=[1e-25,1e-25] --set solver.precision=single");
  CHECK(small / 1e-50 == doctest::Approx(one).epsilon(1e-6));
  for (const char* lost : {"1e-305", "1e-323"})
    check_refused(std::string("run $cases/minimal.yaml --set equation.source=") + lost, "the load underflows: scale");
}

TEST_CASE("a GPU whose number no machine has is status 3") {
  for (const char* command : {"run", "compare"}) {
    const Result result =
        program_run(std::string(command) + " $cases/minimal.yaml --set equation.source=1 --device cuda:999");
    CHECK(result.status == 3);
    CHECK(result.err.starts_with("femcg: device cuda:999 was requested, but "));
    CHECK(lines(result.err) == 1);
  }
}

TEST_CASE("a run on a GPU that is not there, on this machine or in this build, is status 3" * needs_no_gpu()) {
  const Result no_gpu = program_run("run $cases/minimal.yaml --set equation.source=1 --device cuda");
  CHECK(no_gpu.status == 3);
  CHECK(no_gpu.out.empty());
  CHECK(lines(no_gpu.err) == 1);
  CHECK(no_gpu.err.starts_with("femcg: device cuda was requested, but there is no GPU: "));
}

TEST_CASE("Ctrl-C, SIGTERM and a closed terminal end a run in order, with what it has") {
  const std::string endless =
      "$femcg run $cases/minimal.yaml --set equation.source=1 --set mesh.box.cells=[300,300] --set degree=2 "
      "--set solver.preconditioner=none --set solver.tolerance=1e-300 --set solver.max_iterations=1000000000 & sleep "
      "3; ";
  const std::string end = "; wait $!; status=$?; ls -A results/minimal; cat results/minimal/result.json; exit $status";
  for (const std::string kills : {"kill -INT $!", "kill -TERM $!", "kill -HUP $!; sleep 0.02; kill -HUP $!"}) {
    const Result result = shell(endless + kills + end);
    INFO(kills, " -> ", result.err);
    CHECK(result.status == 1);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "interrupted"));
    CHECK(contains(result.out, "case.yaml\nresiduals.csv\n" + result_page + "result.json\nrun.log\nsolution.vtu\n"));
    CHECK(contains(result.out, "\"reason\": \"interrupted\""));
  }
  // Under nohup, closing the terminal has no effect.
  const Result nohup = shell("trap '' HUP; " + endless + "kill -HUP $!; sleep 1; kill -0 $! && kill -KILL $!");
  CHECK(nohup.status == 0);
}

TEST_CASE("a signal before there is anything to store ends the program at once, and pipes do not hang it") {
  for (const std::string kill : {"INT", "TERM", "HUP"}) {
    const Result result = shell("mkfifo pipe; $femcg matrix pipe & sleep 0.5; kill -" + kill + " $!; wait $!");
    CHECK(result.status > 128);
  }
  check_refused("check pipe", "pipe: nobody writes to this pipe", "mkfifo pipe");
  check_refused("check case.yaml", "part.geo: this is not a file",
                "mkfifo part.geo; echo '{mesh: {file: part.geo}}' > case.yaml");
  CHECK(shell("$femcg check <(sleep 0.2; cat $cases/minimal.yaml)").status == 0);
  const Result cache = shell(
      "mkdir -p cache/femcg && cd cache/femcg && mkfifo copy_bandwidth.json trained_models.json tuning.json && cd "
      "../.. && export XDG_CACHE_HOME=$PWD/cache && $femcg run $cases/minimal.yaml --set equation.source=1 --set "
      "solver.operator=auto --quiet --output made && $femcg info --tuning && ls -l cache/femcg | grep -c ^p");
  CHECK(cache.status == 0);
  CHECK(contains(cache.out, "is damaged, or was written by another version"));
  CHECK(cache.out.ends_with("3\n"));
}

TEST_CASE("escape sequences of a case reach no terminal, and formulas no spreadsheet") {
  const std::string names =
      "title: \"\\e]0;title\\a\\e[2J\"\nmesh: {box: {cells: [4, 4]}}\nboundary: {left: {value: 0}}\n"
      "loads: {\"=1+1\": {source: 1}, \"-x\": {source: 2}}\noutput: {vtu: false}\n";
  const Result result =
      shell(file("case.yaml", names) +
            "$femcg run case.yaml --output made; $femcg check case.yaml; $femcg compare case.yaml "
            "--operators csr --iterations 2 --repetitions 1 --output made2; cat made/run.log; sed "
            "'s/\"[a-z]*\"/\"\\x1b[2J\"/' $cases/../meshes/square.msh > part.msh; $femcg mesh part.msh; "
            "cut -d, -f1 made/residuals.csv | sort -u >&2");
  CHECK(result.status == 0);
  CHECK_FALSE(contains(result.out + result.err, "\033"));
  CHECK_FALSE(contains(result.out, "\a"));
  CHECK(contains(result.out, "?]0;title??[2J"));
  CHECK(contains(result.err, "\"'=1+1\""));
  CHECK(contains(result.err, "\"'-x\""));
}

TEST_CASE("list shows everything of this build, a line each") {
  const Result operators = program_run("list operators");
  CHECK(operators.status == 0);
  CHECK(operators.err.empty());
  CHECK(lines(operators.out) == 1 + static_cast<long>(femcg::operators::catalogue().size()));
  for (const auto& row : femcg::operators::catalogue()) {
    CHECK(contains(operators.out, "\n" + std::string(row.name) + " "));
    CHECK(contains(operators.out, std::string(row.source)));
    for (const auto& option : row.options) CHECK(contains(operators.out, std::string(option.name)));
  }
  const Result functions = program_run("list functions");
  for (const auto& function : femcg::solver::expression_functions())
    CHECK(contains(functions.out, "\n" + function.name + " "));
  CHECK(contains(program_run("list cells").out, "tetrahedron"));
  const Result preconditioners = program_run("list preconditioners");
  CHECK(lines(preconditioners.out) == 1 + static_cast<long>(femcg::solver::preconditioners().size()));
  for (const char* text : {"\nnone ", "\njacobi ", "\nchebyshev ", "Saad 2003", "degree: 1 to 16 (4)"})
    CHECK_MESSAGE(contains(preconditioners.out, text), text);
  const Result all = program_run("list");
  CHECK(all.status == 0);
  for (const char* word : {"csr", "hexahedron", "jacobi", "atan2"}) CHECK(contains(all.out, word));
}

TEST_CASE("a reader that leaves is no failure") {
  const Result head = shell("set -o pipefail; $femcg list | head -n 1");
  CHECK(head.status == 0);
  CHECK(head.err.empty());
  CHECK(lines(head.out) == 1);
  const Result gone = shell("set -o pipefail; (sleep 0.3; $femcg list functions) | true");
  CHECK(gone.status == 0);
  CHECK(gone.err.empty());
}

TEST_CASE("a full disk is a failure" * doctest::skip(!fs::exists("/dev/full"))) {
  for (const char* arguments : {"list", "--version", "check $cases/minimal.yaml"}) {
    const Result full = program_run(std::string(arguments) + " > /dev/full");
    INFO(arguments, " -> ", full.err);
    CHECK(full.status == 3);
    CHECK(lines(full.err) == 1);
    CHECK(contains(full.err, "standard output cannot be written: No space left on device"));
  }
}

TEST_CASE("info tells version, build, threads and bandwidth") {
  const Result result = shell("OMP_NUM_THREADS=1 XDG_CACHE_HOME=$PWD $femcg info --measure");
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  for (const char* word : {"femcg ", "compiler", "architecture", "Gmsh", "CUDA", "threads         1 of", "GB/s"})
    CHECK_MESSAGE(contains(result.out, word), word);
}

// Completion, queried like bash does, and the manual page, read by groff.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "operators/catalogue.hpp"
#include "solver/case/case_keys.hpp"
#include "tests/program.hpp"

using namespace femcg;
using namespace femcg::tests;

namespace {

/// True if the system has a program.
bool has(const std::string& program) { return std::system(("command -v " + program + " > /dev/null").c_str()) == 0; }

/// Completions of a line in bash, one per line. `before`: shell lines.
std::string offered(const std::string& line, const std::string& before = "") {
  const Result result = shell(before + "\nsource <($femcg completion bash)\nCOMP_LINE='" + line +
                              "'\nCOMP_POINT=${#COMP_LINE}\n_femcg\n"
                              "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\" | LC_ALL=C sort");
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  return result.out;
}

}  // namespace

TEST_CASE("bash completes commands, options and operators") {
  CHECK(offered("femcg ch") == "check\n");
  CHECK(offered("femcg c") == "check\ncompare\ncompletion\n");
  CHECK(offered("femcg --v") == "--version\n");
  CHECK(offered("femcg run --op") == "--operator\n");
  CHECK(offered("femcg compare --op") == "--operator\n--operators\n");
  CHECK(offered("femcg run x.yaml --operator lma-") == "lma-atomic\nlma-coloured\nlma-gather\n");
  CHECK(offered("femcg run x.yaml --operator=sel") == "sell\n");
  CHECK(lines(offered("femcg run --operator ")) == 1 + static_cast<long>(operators::catalogue().size()));  // plus auto
  CHECK(offered("femcg compare --operators csr,se") == "csr,sell\n");
  CHECK(offered("femcg list pre") == "preconditioners\n");
  CHECK(offered("femcg completion ") == "bash\nfish\nzsh\n");
  CHECK(offered("femcg check --device cuda:") == "0\n1\n");  // readline retains the text before the ':'
  CHECK(offered("femcg nonsense ").empty());
}

TEST_CASE("bash completes files: cases, matrices, geometry, folders") {
  const std::string files = "mkdir sub; touch a.yaml 'b c.yaml' m.mtx p.step n.txt r.json";
  CHECK(offered("femcg run ", files) == "a.yaml\nb c.yaml\nsub\n");
  CHECK(offered("femcg run --quiet a", files) == "a.yaml\n");
  CHECK(offered("femcg matrix ", files) == "m.mtx\nsub\n");
  CHECK(offered("femcg init ", files) == "p.step\nsub\n");
  CHECK(offered("femcg compare a.yaml --baseline ", files) == "r.json\nsub\n");
  CHECK(offered("femcg run a.yaml --output ", files) == "sub\n");
}

TEST_CASE("bash completes keys of --set, and values that can be listed") {
  CHECK(offered("femcg run a.yaml --set deg") == "degree=\n");
  CHECK(offered("femcg run a.yaml --set solver.p") == "solver.precision=\nsolver.preconditioner=\n");
  CHECK(offered("femcg run a.yaml --set bound") == "boundary.\n");
  CHECK(offered("femcg run a.yaml --set solver.precision=") == "double\nmixed\nsingle\n");
  CHECK(offered("femcg run a.yaml --set solver.cg=s") == "single-reduction\n");
  CHECK(offered("femcg run a.yaml --set degree=") == "1\n2\n3\n4\n");
  CHECK(offered("femcg run a.yaml --set degree=2 --set mesh.box.cell=tet") == "tetrahedron\n");
}

TEST_CASE("zsh and fish read what is made for them") {
  for (const char* name : {"zsh", "fish"}) {
    const Result made = program_run(std::string("completion ") + name);
    CHECK(made.status == 0);
    for (const char* word :
         {"compare", "preconditioners", "csr-grouped", "solver.tolerance=", "solver.cg=block", "yaml"})
      CHECK_MESSAGE(contains(made.out, word), name, ": ", word);
    if (has(name)) {
      const Result read = shell(std::string("$femcg completion ") + name + " > script && " + name + " -n script");
      CHECK_MESSAGE(read.status == 0, read.err);
      CHECK(read.err.empty());
    }
  }
}

TEST_CASE("fish completes" * doctest::skip(!has("fish"))) {
  const auto fish = [](const std::string& line) {
    return shell("$femcg completion fish > script && touch a.yaml && HOME=$PWD fish -c \"source script; complete -C '" +
                 line + "'\"")
        .out;
  };
  CHECK(fish("femcg che").starts_with("check\t"));
  CHECK(contains(fish("femcg run --operator lma-"), "lma-gather\t"));
  CHECK(contains(fish("femcg run --set solver.cg=s"), "solver.cg=single-reduction"));
  CHECK(contains(fish("femcg run a"), "a.yaml"));
}

TEST_CASE("another shell is one sentence") {
  check_refused("completion", "a shell is missing, such as femcg completion bash");
  check_refused("completion tcsh", "there is completion for bash, zsh or fish, not for 'tcsh'");
  check_refused("completion bash zsh", "one argument too many: 'zsh'");
  check_refused("manual page", "one argument too many: 'page'");
}

TEST_CASE("the manual page has every command, option and key") {
  const Result page = program_run("manual");
  CHECK(page.status == 0);
  CHECK(contains(page.out, ".TH FEMCG 1"));
  for (const char* command :
       {"run", "compare", "matrix", "report", "check", "list", "info", "init", "schema", "completion", "manual"})
    CHECK(contains(page.out, std::string(".SS femcg ") + command));
  for (const char* option : {"set", "operators", "right\\-hand\\-sides", "baseline", "measure", "no\\-progress"})
    CHECK_MESSAGE(contains(page.out, std::string("\\fB\\-\\-") + option + "\\fR"), option);
  for (const auto& [path, key] : solver::all_case_keys())
    if (path.find("..") == std::string::npos) CHECK_MESSAGE(contains(page.out, "\\fB" + path + "\\fR"), path);
}

TEST_CASE("groff prints the manual page without a warning" * doctest::skip(!has("groff"))) {
  const Result read = shell("$femcg manual > femcg.1 && groff -man -ww -Tascii -P-cbou femcg.1");
  CHECK(read.status == 0);
  CHECK(read.err.empty());
  CHECK(contains(read.out, "solver.tolerance"));
  CHECK(contains(read.out, "source <(femcg completion bash)"));
}

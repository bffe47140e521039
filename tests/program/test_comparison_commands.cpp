// femcg compare and femcg matrix as seen by their user.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "solver/report/report_page.hpp"
#include "tests/program.hpp"

using namespace femcg::tests;
using nlohmann::ordered_json;

namespace {

const std::string quick = " --iterations 3 --repetitions 2";
const std::string square = " $cases/minimal.yaml --set mesh.box.cells=[12,10] --set equation.source=1 ";

const std::string make = "$femcg compare" + square + quick + " --quiet --operators csr,sell --output made\n" +
                         "cp made/compare.json copy.json\n";

/// Runs a command with results in the folder `made`, and reads its compare.json.
struct Comparison {
  explicit Comparison(const std::string& command)
      : printed(shell(command + " --output made && echo '### compare.json' && cat made/compare.json")) {
    INFO(command, " -> ", printed.err);
    REQUIRE(printed.status == 0);
    const std::size_t json = printed.out.find("### compare.json\n");
    const std::string text = printed.out.substr(json + 17);
    records = ordered_json::parse(text);
    CHECK(lines(text) == std::ssize(records) + 2);  // one per line
    printed.out.resize(json);
  }
  const ordered_json& of(const std::string& name) const {
    for (const ordered_json& record : records)
      if (record["operator"]["name"] == name) return record;
    return records.at(0);
  }
  Result printed;
  ordered_json records;
};

/// Length of the longest line, in ASCII characters.
std::size_t widest_line(const std::string& text) {
  std::istringstream stream(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(stream, line);) widest = std::max(widest, line.size());
  return widest;
}

/// Shell lines that write a file of a header and lines.
std::string matrix_file(const std::string& name, const std::string& header, const std::string& lines) {
  return "printf '%%%%MatrixMarket matrix " + header + "\\n" + lines + "' > " + name + "\n";
}

}  // namespace

TEST_CASE("several right-hand sides: a table, records and a baseline for each number, and one alone beside them") {
  const Comparison mesh("$femcg compare" + square + quick +
                        " --operators csr,matrix-free --set compare.right_hand_sides=[8,3]");
  REQUIRE(mesh.records.size() == 6);
  for (const int sides : {3, 8}) {
    CAPTURE(sides);
    CHECK(contains(mesh.printed.out, fmt::format(", {} right-hand sides at once", sides)));
  }
  CHECK(contains(mesh.printed.out, "gain   in CG"));
  CHECK(widest_line(mesh.printed.out) <= 100);
  CHECK(mesh.records[1]["comparison"]["right_hand_sides"] == 3);
  CHECK(mesh.records[1]["solve"]["cg"] == "batched");
  const Comparison matrix("$femcg matrix $matrices/laplace.mtx" + quick +
                          " --operators csr,eigen --right-hand-sides 4 --output first --quiet && "
                          "$femcg matrix $matrices/laplace.mtx" +
                          quick + " --operators csr,eigen --right-hand-sides 4 --baseline first/compare.json");
  REQUIRE(matrix.records.size() == 4);
  for (const ordered_json& record : matrix.records) {
    const double ratio = record["comparison"]["baseline_ratio"];  // relative to the same number
    CHECK(ratio > 0);
  }
}

TEST_CASE("numbers of right-hand sides that are none, and what has no CG for several") {
  check_refused("compare" + square + "--set compare.right_hand_sides=4",
                "compare.right_hand_sides must be a list of numbers of right-hand sides, such as [1, 4, 8]");
  check_refused("compare" + square + "--right-hand-sides 33", "must be a whole number from 1 to 32, not '33'");
  check_refused("matrix $matrices/laplace.mtx --right-hand-sides 2,x", "must be a whole number from 1 to 32, not 'x'");
  check_refused("compare" + square + "--right-hand-sides 2 --set solver.cg=single-reduction",
                "CG for several right-hand sides has no solver.cg: single-reduction; leave out one");
  check_refused("compare" + square + "--right-hand-sides 2 --set solver.loop=resident",
                "CG for several right-hand sides has no persistent kernel (solver.loop: persistent)");
  check_refused("compare" + square + "--right-hand-sides 2 --set solver.loop=merged",
                "CG for several right-hand sides has no passes inside the product (solver.loop: merged)");
}

TEST_CASE("a sweep over preconditioners solves, and ranks by the time to the solution") {
  const std::string sweep = " --set 'compare.sweep={preconditioner: [auto, jacobi, {name: multigrid, smoother: 2}]}'";
  const Comparison made("$femcg compare" + square + quick + " --operators csr --set mesh.box.cells=[160,160]" + sweep);
  REQUIRE(made.records.size() == 3);
  double soonest = 1e9;
  std::string best;
  for (const ordered_json& record : made.records) {
    const ordered_json& solution = record["solution"];
    CHECK(solution["reason"] == "converged");
    CHECK(solution["relative_residual"] <= 1e-8);
    CHECK(solution["history"].size() == std::min<std::size_t>(200, solution["iterations"].get<std::size_t>() + 1));
    const ordered_json& seconds = record["seconds"];
    CHECK(seconds["preconditioner"] > 0);
    CHECK(solution["seconds"].get<double>() ==
          doctest::Approx(seconds["assembly"].get<double>() + seconds["conversion"].get<double>() +
                          seconds["preconditioner"].get<double>() + solution["loop_seconds"].get<double>()));
    CHECK((record["solve"]["preconditioner"] == "jacobi") == (record["sweep"]["preconditioner"] == "jacobi"));
    if (solution["seconds"] < soonest) {
      soonest = solution["seconds"];
      best = record["solve"]["preconditioner"];
    }
  }
  const std::size_t table = made.printed.out.find("time to solution: ");
  REQUIRE(table != std::string::npos);
  const std::string first = made.printed.out.substr(made.printed.out.find("to best\n", table) + 8);
  CHECK(first.starts_with("  " + best));
  CHECK(contains(made.printed.out, "multigrid[smoother=2]"));
  CHECK(widest_line(made.printed.out) <= 100);
}

TEST_CASE("femcg matrix solves with the preconditioners that it is given") {
  const Comparison made("$femcg matrix $matrices/laplace.mtx" + quick +
                        " --operators csr --preconditioners none,jacobi,multigrid");
  REQUIRE(made.records.size() == 3);
  for (const ordered_json& record : made.records) {
    CHECK(record["comparison"]["status"] == "timed");
    CHECK(record["solution"]["reason"] == "converged");
  }
  check_refused("matrix $matrices/laplace.mtx --preconditioners ilu",
                "--preconditioners: 'ilu' is none of femcg list preconditioners");
}

TEST_CASE("without a sweep over preconditioners, jacobi stands for auto and is named") {
  const Comparison made("$femcg compare" + square + quick + " --operators csr");
  CHECK(made.records.at(0)["solve"]["preconditioner"] == "jacobi");
  CHECK_FALSE(made.records.at(0).contains("solution"));
}

TEST_CASE("--help names every option of compare and matrix") {
  for (const char* command : {"compare", "matrix"}) {
    const Result help = program_run(std::string(command) + " --help");
    CHECK(help.status == 0);
    for (const char* option : {"--operators", "--device", "--iterations", "--repetitions", "--right-hand-sides",
                               "--baseline", "--threads", "--output", "--quiet", "--no-progress"})
      CHECK_MESSAGE(contains(help.out, option), command << " " << option);
  }
  CHECK(contains(program_run("compare --help").out, "--set"));
  CHECK(contains(program_run("matrix --help").out, "--order"));
  CHECK(contains(program_run("matrix --help").out, "--precision"));
}

TEST_CASE("compare prints tables of 100 columns and writes its files") {
  const Result result = shell("$femcg compare" + square + quick +
                              " --set 'compare.sweep={degree: [1, 2], precision: [single, double], C: [4, 8]}' && "
                              "ls results/minimal && head -n 1 results/minimal/compare.csv && wc -l < "
                              "results/minimal/compare.csv && test ! -s results/minimal/report.html; echo $?");
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(widest_line(result.out.substr(0, result.out.find("results in"))) <= 100);
  for (const char* part :
       {"120 quadrilaterals of degree 1, 99 unknowns; single precision, cpu, copies ",
        "120 quadrilaterals of degree 2, 437 unknowns; double precision, cpu, copies ", "\n  matrix-free ",
        "\n  sell[C=4] ", "\n  sell[C=8] ", "compare.csv\ncompare.json\n", "case,matrix,cell,degree,"})
    CHECK_MESSAGE(contains(result.out, part), part);
  CHECK(program_run("compare --quiet" + square + quick + " --operators csr").out.empty());
}

TEST_CASE("what is wrong with a comparison is one sentence and status 2, before anything is written") {
  check_refused("compare", "a case file is missing, such as femcg compare CASE.yaml");
  check_refused("compare" + square + "--operators csr,cssr",
                "--operators: unknown operator 'cssr'; did you mean 'csr'?");
  check_refused("compare" + square + "--operators ''", "compare.operators must be all, or a list of operators, not an");
  check_refused("compare" + square + "--iterations 0",
                "--iterations: compare.iterations must be a whole number from 1");
  check_refused("compare" + square + "--repetitions x", "--repetitions: compare.repetitions must be a whole number");
  check_refused(
      "compare" + square + "--device gpu",
      "--device: compare.devices[0] must be auto, cpu, cuda, or a GPU by its number such as cuda:1, not 'gpu'");
  check_refused("compare" + square + "--set 'compare.sweep={degre: [1]}'", "did you mean 'degree'?");
  check_refused("compare" + square + "--set 'compare.sweep={refine: []}'",
                "compare.sweep.refine must be a list of values");
  check_refused("compare" + square + "--set 'compare.sweep={refine: [0], mesh.refine: [1]}'",
                "'mesh.refine' is swept twice; 'refine' is short for it");
  check_refused("compare" + square + "--baseline none.json", "none.json: there is no such file");
  check_refused("compare" + square + "--baseline $cases/minimal.yaml", "minimal.yaml: this is no compare.json");
  check_refused("matrix", "a matrix is missing, such as femcg matrix FILE.mtx");
  check_refused("matrix $matrices/laplace.mtx --operators slel", "unknown operator 'slel'; did you mean 'sell'?");
  check_refused("matrix $matrices/laplace.mtx --operators matrix-free", "it needs a mesh");
  check_refused("matrix $matrices/laplace.mtx --precision half", "--precision must be double, single or single,double");
  check_refused("matrix $matrices/laplace.mtx --order rcm",
                "--order must be given or reverse-cuthill-mckee, not 'rcm'");
  check_refused("matrix $matrices/laplace.mtx --baseline none.json", "none.json: there is no such file");
  const Result nothing = shell("$femcg compare" + square + "--operators cssr; ls; $femcg matrix none.mtx; ls");
  CHECK_FALSE(contains(nothing.out, "results"));
}

TEST_CASE("a machine that cannot is status 3") {
  for (const std::string& command : {"compare" + square, std::string("matrix $matrices/laplace.mtx ")}) {
    const Result nowhere = program_run(command + quick + " --output /dev/null/here");
    CHECK(nowhere.status == 3);
    CHECK(nowhere.out.empty());
    CHECK(nowhere.err == "femcg: cannot make the results folder '/dev/null/here': Not a directory\n");
  }
}

TEST_CASE("a GPU that is asked for and not there is status 3" * needs_no_gpu()) {
  for (const std::string& command : {"compare" + square, std::string("matrix $matrices/laplace.mtx ")})
    for (const char* devices : {"cuda", "cpu,cuda"}) {
      const Result no_gpu = program_run(command + quick + " --device " + devices);
      CHECK(no_gpu.status == 3);
      CHECK(lines(no_gpu.err) == 1);
      CHECK(no_gpu.err.starts_with("femcg: device cuda was requested, but there is no GPU: "));
    }
}

TEST_CASE("a record says what --set changed, beside what was swept") {
  const Comparison changed("$femcg compare" + square +
                           "--set 'compare.sweep={degree: [2]}' --set mesh.box.cells=[4,3] --operators csr" + quick);
  const ordered_json expected{
      {"mesh.box.cells", "[4,3]"}, {"equation.source", "1"}, {"compare.sweep", "{degree: [2]}"}};
  CHECK(changed.of("csr")["set"] == expected);
  CHECK(changed.of("csr")["sweep"] == ordered_json{{"degree", "2"}});
  const Comparison unchanged("$femcg compare $cases/minimal.yaml --operators csr" + quick);
  CHECK(unchanged.of("csr")["set"] == ordered_json::object());
}

TEST_CASE("a case whose right-hand side is zero is compared by its products") {
  const Comparison zero("$femcg compare $cases/minimal.yaml --device cpu,cpu --operators csr,lma-atomic" + quick);
  CHECK(zero.printed.err == "note: products only, no CG: the right-hand side is zero\n");
  CHECK(contains(zero.printed.out, "products/s"));
  REQUIRE(zero.records.size() == 2);  // a device named twice counts once
  CHECK(zero.of("csr")["comparison"]["status"] == "timed");
  CHECK(zero.of("csr")["solve"]["iterations_per_second"] == 0);
  CHECK(zero.of("csr")["apply"]["median_seconds"] > 0);
}

TEST_CASE("names that are not UTF-8 are replaced in the files, not refused") {
  const Comparison made(
      "printf 'title: H\\xe9llo\\nmesh: {box: {cells: [9, 9]}}\\nequation: {source: 1}\\n"
      "boundary: {all: {value: 0}}\\n' > case.yaml; $femcg compare case.yaml --operators csr" +
      quick);
  CHECK(made.of("csr")["title"] == "H\xEF\xBF\xBDllo");
  const Comparison again(
      "cp $matrices/laplace.mtx $'a\\xff.mtx'; $femcg matrix $'a\\xff.mtx' --operators csr --output made" + quick +
      "; mv made/compare.json old.json; $femcg matrix $'a\\xff.mtx' --operators csr --baseline old.json" + quick);
  CHECK(again.of("csr")["comparison"].contains("baseline_ratio"));
}

TEST_CASE("a baseline says what changed, and only of what it knows") {
  const std::string command = "$femcg compare" + square + quick + " --operators ";
  const Result result = shell(command + "csr,sell --quiet --output old && " + command +
                              "csr,sell,eigen --output new --baseline old/compare.json && "
                              "grep -c baseline_verdict new/compare.json");
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(contains(result.out, "against old/compare.json: "));
  CHECK(contains(result.out, " unchanged within the spread and 3%, 1 not measured there\n"));
  CHECK(result.out.ends_with("\n2\n"));
}

TEST_CASE("what is wrong with the files of a report is one sentence and status 2") {
  check_refused("report", "a comparison is missing, such as femcg report compare.json");
  check_refused("report none.json", "none.json: there is no such file");
  check_refused("report .", ".: this is a folder, not a file");
  check_refused("report $cases/minimal.yaml", "minimal.yaml: this is no compare.json");
  check_refused("report one.json", "one.json: this is no compare.json", "echo '{}' > one.json");
  check_refused("report one.json", "one.json: this is no compare.json", "echo '[{\"schema\": 1}]' > one.json");
  check_refused("report one.json", "one.json: its records have schema 2, and this femcg knows schema 1",
                "echo '[{\"schema\": 2}]' > one.json");
  check_refused("report --ouput x one.json", "unknown option '--ouput'; did you mean '--output'?");
}

TEST_CASE("records that are none are refused in a sentence, however they are nested") {
  const auto refused = [](const std::string& script, const std::string& part) {
    check_refused("report one.json", part, little_memory + "python3 -c '" + script + "' > one.json");
  };
  refused("print(\"[\" * 200000)", "one.json: its values are nested too deeply for a compare.json");
  refused("print(\"[\" * 200000 + \"]\" * 200000)", "one.json: its values are nested too deeply");
  refused("print(\"[{\\\"a\\\":\" * 9 + \"[\" * 9)", "one.json: its values are nested too deeply");
  refused("print([{str(k): 1 for k in range(100000)}])", "one.json: ");
  refused("print(str([{str(k): 1 for k in range(501)}]).replace(chr(39), chr(34)))",
          "one.json: a map has more than 500 keys");
  refused("print(\"[\" + \"[],\" * 6000000)", "one.json: more than 5000000 values");
  refused("print(\" \" * 65000000)", "one.json: this is too large for a compare.json (64 MB at most)");
}

TEST_CASE("values of a wrong kind are named by file, record and key") {
  const auto refused = [](const std::string& change, const std::string& part) {
    const Result result = shell(
        "cat > change.py <<'EOF'\nimport json, sys\nrecords = json.load(open(sys.argv[1]))[:2]\n"
        "record = records[1]\n" +
        change + "\njson.dump(records, open('one.json', 'w'))\nEOF\npython3 change.py " +
        (source_directory() / "cases/h200/cube_formats.json").string() +
        " && $femcg report one.json; status=$?; $femcg matrix $matrices/laplace.mtx --baseline one.json; "
        "test $? = $status && exit $status");
    INFO(change, " -> ", result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(lines(result.err) == 2);
    CHECK(result.err == part + "\n" + part + "\n");
  };
  refused("record['solve']['iterations'] = 'many'",
          "one.json: solve.iterations of record 2 must be a number, not a text");
  refused("record['problem']['unknowns'] = [1]", "one.json: problem.unknowns of record 2 must be a number, not a list");
  refused("record['operator']['name'] = 3", "one.json: operator.name of record 2 must be a text, not a number");
  refused("record['apply'] = None", "one.json: apply of record 2 must be a map, not null");
  refused("record['matrix'] = {'row_lengths': {'histogram': [[1, 2], [3]]}}",
          "one.json: matrix.row_lengths.histogram of record 2 must be a list of pairs of numbers");
  refused("record['sweep'] = {'degree': {}}", "one.json: sweep of record 2 must be a map of texts");
  refused("record['operator']['options'] = {'coop': []}",
          "one.json: operator.options of record 2 must be a map of numbers and texts");
}

TEST_CASE("a build without the page says so where one is asked for" * doctest::skip(femcg::solver::has_report_page())) {
  const Result none = shell(make + "$femcg report copy.json");
  CHECK(none.status == 3);
  CHECK(none.err ==
        fmt::format("{}femcg: {}\n", none.err.substr(0, none.err.find('\n') + 1), femcg::solver::report_page_stub()));
}

TEST_CASE("a stored comparison becomes the page that it had" * doctest::skip(!femcg::solver::has_report_page())) {
  const Result same = shell(make + "$femcg report copy.json && cmp report.html made/report.html");
  INFO(same.err);
  CHECK(same.status == 0);
  CHECK(same.out == "2 records in report.html\n");
  const Result both = shell(make +
                            "mkdir kept && $femcg report --quiet made/compare.json copy.json --output kept/page.html "
                            "&& ls kept && grep -c '\"status\":\"timed\"' kept/page.html");
  INFO(both.err);
  CHECK(both.status == 0);
  CHECK(both.out == "page.html\n4\n");
  const Result nowhere = shell(make + "$femcg report copy.json --output none/page.html");
  CHECK(nowhere.status == 3);
  CHECK(lines(nowhere.err) == 1);
}

TEST_CASE("Ctrl-C or SIGTERM ends a comparison with what was measured, and status 1") {
  const std::string start =
      "$femcg compare" + square + "--set mesh.box.cells=[40,40] --operators csr,eigen --threads 1 --output made ";
  const std::string end = " $!; wait $!; status=$?; cat made/compare.json >&2; exit $status";
  const std::string stop = " & sleep 3; kill -INT" + end, terminate = " & sleep 3; kill -TERM" + end;
  const Result between = shell(start + "--iterations 1000 --repetitions 1000" + terminate);
  CHECK(between.status == 1);
  const std::string note = "note: interrupted; the results hold what was measured until then\n";
  REQUIRE(between.err.starts_with(note));
  for (const ordered_json& record : ordered_json::parse(between.err.substr(note.size()))) {
    CHECK(record["comparison"]["status"] == "timed");
    CHECK(record["comparison"]["repetitions"] >= 1);
    CHECK(record["comparison"]["repetitions"] < 1000);
  }
  const Result within = shell(start + "--iterations 2000000000" + stop);  // the first repetition would take hours
  CHECK(within.status == 1);
  REQUIRE(within.err.starts_with(note));
  CHECK(ordered_json::parse(within.err.substr(note.size()))[0]["comparison"]["status"] == "interrupted");
  CHECK(contains(within.out, "interrupted: stopped before it was timed"));
}

TEST_CASE("every kind of defect of a Matrix Market file is one sentence with its line") {
  const auto refused = [](const std::string& header, const std::string& lines, const std::string& sentence) {
    check_refused("matrix bad.mtx", "bad.mtx:" + sentence, matrix_file("bad.mtx", header, lines));
  };
  const std::string general = "coordinate real general";
  refused("coordinate real", "1 1 1\\n1 1 1\\n", "1: the header has five words");
  refused("coordinate complex general", "1 1 1\\n1 1 1 0\\n", "1: the matrix is complex");
  refused(general, "2 2 3\\n1 1 1\\n2 2 1\\n", "4: the file ends after 2 of the 3 entries");
  refused(general, "2 2 2\\n1 1 1\\n3 2 1\\n", "4: row 3 is outside of 1 to 2");
  refused(general, "2 2 2\\n1 1 1\\n2 0 1\\n", "4: column 0 is outside of 1 to 2");
  refused(general, "2 2 2\\n1 1 one\\n2 2 1\\n", "3: 'one' is not a number");
  refused(general, "%% the size is missing\\n", "2: the file ends before the line with its size");
  refused(general, "2 2 2\\n1 1 1\\n2 2", "4: a line of this file holds row, column and value, not '2 2'");
  refused(general, "2 3 1\\n1 1 1\\n", "2: the matrix is 2 x 3, and femcg needs a square one");
  check_refused("matrix none.mtx", "none.mtx: there is no such file");
  check_refused("matrix .", ".: this is a folder, not a file");
}

TEST_CASE("matrices of every kind are read, judged and timed") {
  struct Kind {
    std::string header, lines;
    bool symmetric, cg;
    int nonzeros;
  };
  const std::vector<Kind> kinds{
      {"coordinate real symmetric", "3 3 5\\n1 1 4\\n2 2 4\\n3 3 4\\n2 1 -1\\n3 2 -1\\n", true, true, 7},
      {"coordinate integer general", "3 3 4\\n1 1 4\\n2 2 4\\n3 3 4\\n2 1 -1\\n", false, false, 4},
      {"coordinate real skew-symmetric", "3 3 2\\n2 1 -1\\n3 2 -1\\n", false, false, 4},
      {"coordinate pattern symmetric", "3 3 4\\n1 1\\n2 2\\n3 3\\n3 1\\n", true, true, 5},
      {"array real general", "2 2\\n4\\n1\\n1\\n4\\n", true, true, 4},
      {"coordinate real general", "4 4 3\\n1 1 4\\n2 2 1\\n2 2 1\\n", true, false, 2},  // a duplicate and empty rows
      {"coordinate real general", "1 1 1\\n1 1 2\\n", true, true, 1},
      {"coordinate real general", "0 0 0\\n", true, false, 0},
  };
  for (const Kind& kind : kinds) {
    INFO(kind.header, ": ", kind.lines);
    const Comparison made(matrix_file("m.mtx", kind.header, kind.lines) + "$femcg matrix m.mtx" + quick);
    CHECK(made.records.size() >= 5);
    for (const ordered_json& record : made.records) {
      INFO(record["operator"]["name"].get<std::string>());
      CHECK(record["comparison"]["status"] == "timed");
      CHECK((record["solve"]["iterations_per_second"] > 0) == kind.cg);
      CHECK(record["problem"]["symmetric"] == kind.symmetric);
    }
    CHECK(made.of("csr")["operator"]["nonzeros"] == kind.nonzeros);
    CHECK(contains(made.printed.err, "note: products only, no CG: ") == !kind.cg);
    CHECK(contains(made.printed.out, kind.cg ? "CG it/s" : "products/s"));
    CHECK(widest_line(made.printed.out) <= 100);
  }
}

TEST_CASE("both precisions, in the order of all tables; what does not fit in single says so") {
  const Comparison both("$femcg matrix $matrices/laplace.mtx --operators csr,matrix-free --precision single,double" +
                        quick);
  REQUIRE(both.records.size() == 4);
  CHECK(both.records[0]["operator"]["precision"] == "single");
  CHECK(both.records[2]["operator"]["precision"] == "double");
  CHECK(both.of("matrix-free")["comparison"]["status"] == "not applicable");
  CHECK(contains(both.printed.out, "matrix-free       not applicable: it needs a mesh"));
  const std::string large = matrix_file("large.mtx", "coordinate real general", "1 1 1\\n1 1 1e60\\n");
  const Comparison half(large + "$femcg matrix large.mtx --operators csr --precision double,single" + quick);
  CHECK(half.records[0]["comparison"]["reason"] ==
        "the matrix has an entry 1e+60, which is too large for single precision");
  CHECK(half.records[1]["comparison"]["status"] == "timed");
}

TEST_CASE("matrices of any size within the range of the precision are timed with CG, others are wrong input") {
  const auto chain = [](const std::string& size) {
    return matrix_file("m.mtx", "coordinate real symmetric",
                       "3 3 5\\n1 1 2.5" + size + "\\n2 2 2.5" + size + "\\n3 3 2.5" + size + "\\n2 1 -1" + size +
                           "\\n3 2 -1" + size + "\\n");
  };
  for (const char* size : {"e-289", "e-160", "e150", "e289"}) {
    const Comparison made(chain(size) + "$femcg matrix m.mtx" + quick);
    for (const ordered_json& record : made.records) {
      INFO(size, " ", record["operator"]["name"].get<std::string>());
      CHECK(record["comparison"]["status"] == "timed");
      CHECK(record["solve"]["iterations_per_second"] > 0);
    }
  }
  for (const char* size : {"e-29", "e29"}) {
    const Comparison made(chain(size) + "$femcg matrix m.mtx --precision single" + quick);
    for (const ordered_json& record : made.records) CHECK(record["comparison"]["status"] == "timed");
  }
  for (const char* size : {"e307", "e300", "e-300", "e-320"}) {
    const Result result = shell(chain(size) + "$femcg matrix m.mtx" + quick);
    CHECK(result.status == 2);
    CHECK(lines(result.err) == 1);
    CHECK(contains(result.err, "; scale the matrix"));
  }
  for (const char* size : {"e38", "e-38", "e-45"}) {
    const Result result = shell(chain(size) + "$femcg matrix m.mtx --operators csr --precision single" + quick);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "for single precision"));
  }
}

TEST_CASE("reordering finds the chain in a shuffled one, and says both bandwidths") {
  constexpr int n = 31, stride = 12;  // coprime
  std::string entries;
  for (int i = 0; i < n; ++i) {
    entries += fmt::format("{0} {0} 2\\n", i + 1);
    const int a = i * stride % n, b = (i + 1) * stride % n;
    if (i + 1 < n) entries += fmt::format("{} {} -1\\n", std::max(a, b) + 1, std::min(a, b) + 1);
  }
  const std::string file =
      matrix_file("chain.mtx", "coordinate real symmetric", fmt::format("{} {} {}\\n{}", n, n, 2 * n - 1, entries));
  const Comparison given(file + "$femcg matrix chain.mtx --operators csr" + quick);
  const Comparison ordered(file + "$femcg matrix chain.mtx --operators csr --order reverse-cuthill-mckee" + quick);
  CHECK(given.of("csr")["matrix"]["bandwidth"] == n - stride);
  CHECK(given.of("csr")["problem"]["ordering"] == "given");
  CHECK(ordered.of("csr")["matrix"]["bandwidth"] == 1);
  CHECK(ordered.of("csr")["matrix"]["bandwidth_before"] == n - stride);
  CHECK(ordered.of("csr")["problem"]["ordering"] == "reverse-cuthill-mckee");
  CHECK(contains(ordered.printed.out, fmt::format("bandwidth 1 ({} before reordering)\n", n - stride)));
}

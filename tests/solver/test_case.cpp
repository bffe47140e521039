#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "operators/catalogue.hpp"
#include "solver/case/case.hpp"
#include "solver/messages/error.hpp"
#include "tests/locations.hpp"

namespace fs = std::filesystem;
using namespace femcg::solver;

namespace {

const fs::path cases = femcg::tests::source_directory() / "tests" / "cases";

/// A folder of this test run, removed at the end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("femcg_test_case_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const Folder& folder() {
  static const Folder one;
  return one;
}

struct Sentences : std::vector<std::string> {
  using vector::vector;
  explicit Sentences(std::vector<std::string> from) : vector(std::move(from)) {}
  /// The first problem; defined even without problems, for messages of failing tests.
  std::string front() const { return empty() ? "nothing is wrong" : vector::front(); }
};

/// Problems of a file, without its path, so that they begin with ":line:column: ".
Sentences problems_of(const fs::path& file, const std::vector<Override>& overrides = {}) {
  try {
    read_case(file, overrides);
  } catch (const InputError& error) {
    Sentences sentences(error.sentences());
    for (std::string& sentence : sentences)
      if (sentence.starts_with(file.string())) sentence.erase(0, file.string().size());
    return sentences;
  }
  return {};
}

Sentences problems(const std::string& text, const std::vector<Override>& overrides = {}) {
  return problems_of(folder().write("case.yaml", text), overrides);
}

const std::string mesh_line = "mesh: {box: {cells: [4, 4]}}\n";

/// The only problem of a case with a valid mesh on line 1 and the given lines from line 2.
std::string problem(const std::string& lines) {
  const Sentences all = problems(mesh_line + lines);
  INFO(lines);
  REQUIRE(all.size() == 1);
  return all.front();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The only problem of an override of a valid case.
std::string override_problem(const Override& override) {
  const Sentences all = problems(mesh_line + "degree: 2\nsolver: {operator: csr}\n", {override});
  INFO(override.key, "=", override.value);
  REQUIRE(all.size() == 1);
  return all.front();
}

Case case_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  return read_case(folder().write("case.yaml", text), overrides);
}

const femcg::mesh::BoxOptions& box_of(const Case& one) { return std::get<femcg::mesh::BoxOptions>(one.mesh.source); }

}  // namespace

TEST_CASE("a minimal case has the defaults of the contract") {
  const Case one = read_case(cases / "minimal.yaml");
  CHECK(one.name == "minimal");
  CHECK(one.title == "minimal");
  CHECK(one.solution.name == "u");
  CHECK(one.solution.unit.empty());
  CHECK(box_of(one).shape == femcg::mesh::CellShape::quadrilateral);
  CHECK(box_of(one).cells[0] == 4);
  CHECK(box_of(one).size == std::array{1.0, 1.0, 1.0});
  CHECK(box_of(one).distort == 0);
  CHECK(one.mesh.refine == 0);
  CHECK(one.degree == 1);
  CHECK(one.problem.quadrature == 2);
  CHECK(one.problem.diffusion.everywhere->multiple().constant() == 1.0);
  CHECK(one.problem.source.everywhere->constant() == 0.0);
  REQUIRE(one.problem.boundary.size() == 1);
  CHECK(one.problem.boundary[0].group == "all");
  CHECK(one.problem.boundary[0].kind == BoundaryKind::value);
  CHECK(one.problem.boundary[0].value.constant() == 0.0);
  CHECK_FALSE(one.problem.exact);
  CHECK(one.mesh.cell_order == CellOrder::automatic);
  CHECK(one.problem.unknown_order == UnknownOrder::first_touch);
  CHECK(one.solver.op.name == "auto");
  CHECK(one.solver.preconditioner.name == "auto");
  CHECK(one.solver.precision == Precision::double_);
  CHECK(one.solver.device == "auto");
  CHECK(one.solver.tolerance == 1e-8);
  CHECK(one.solver.max_iterations == 10000);
  CHECK(one.output.directory == fs::path("results/minimal"));
  CHECK(one.output.vtu);
  CHECK(one.output.fields == std::vector{OutputField::u});
  CHECK_FALSE(one.output.boundary);
  CHECK(one.output.probes.empty());
  CHECK(one.compare.operators.size() == femcg::operators::catalogue().size());
  CHECK(one.compare.iterations == 200);
  CHECK(one.compare.repetitions == 5);
}

TEST_CASE("every key arrives where it belongs") {
  const Case one = read_case(cases / "everything.yaml");
  CHECK(one.title == "Every key: a # box, 'quoted'");
  CHECK(box_of(one).shape == femcg::mesh::CellShape::tetrahedron);
  CHECK(box_of(one).cells == std::array{3, 4, 5});
  CHECK(box_of(one).size[1] == doctest::Approx(6.283185307179586));
  CHECK(box_of(one).size[2] == 0.5);
  CHECK(box_of(one).distort == 0.1);
  CHECK(one.mesh.refine == 1);
  CHECK(one.degree == 3);
  CHECK(one.problem.quadrature == 5);
  CHECK(one.problem.symmetry == 4);
  REQUIRE(one.problem.points.size() == 1);
  CHECK(one.problem.points[0].at.name == "spot");
  CHECK(one.problem.points[0].at.point == std::array{0.5, 1.0, 0.25});
  CHECK(one.problem.points[0].power == 6);
  CHECK_FALSE(one.problem.diffusion.everywhere);
  CHECK(one.problem.diffusion.by_region.at("box").multiple()(2, 0, 0) == 5);
  CHECK((*one.problem.source.everywhere)(0.7, 0, 0) == -1);
  REQUIRE(one.problem.boundary.size() == 3);
  CHECK(one.problem.boundary[0].group == "left");
  CHECK(one.problem.boundary[0].value.constant() == 100.0);
  CHECK(one.problem.boundary[1].kind == BoundaryKind::transfer);
  CHECK(one.problem.boundary[1].transfer.constant() == 10.0);
  CHECK(one.problem.boundary[1].ambient(0, 2, 0) == 22);
  CHECK(one.problem.boundary[1].place == (cases / "everything.yaml").string() + ":12:3");
  CHECK(one.problem.boundary[2].kind == BoundaryKind::flux);
  CHECK(one.problem.boundary[2].value.constant() == 5.0);
  CHECK((*one.problem.exact->everywhere)(0.5, 0.5, 0) == doctest::Approx(1));
  CHECK(one.mesh.cell_order == CellOrder::curve);
  CHECK(one.problem.unknown_order == UnknownOrder::reverse_cuthill_mckee);
  CHECK(one.solver.op.options.empty());
  CHECK(one.solver.preconditioner.name == "none");
  CHECK(one.solver.precision == Precision::single);
  CHECK(one.solver.device == "cpu");
  CHECK(one.solver.tolerance == 1e-6);
  CHECK(one.solver.max_iterations == 10);  // 010 is decimal
  CHECK(one.output.directory == fs::path("results/every key"));
  CHECK_FALSE(one.output.vtu);
  REQUIRE(one.output.probes.size() == 2);
  CHECK(one.output.probes[0].name == "tip");
  CHECK(one.output.probes[0].point == std::array{0.1, 0.2, 0.3});
  CHECK(contains(one.output.probes[0].place, "everything.yaml:26:"));
  CHECK(one.output.probes[1].name == "a: b");
  CHECK(one.solution.name == "temperature's rise");
  CHECK(one.solution.unit == "°C");
  CHECK(one.output.boundary);
  CHECK(one.output.fields == std::vector{OutputField::flux, OutputField::u, OutputField::recovered_gradient});
  CHECK(one.compare.operators.size() == 2);
  CHECK(one.compare.iterations == 7);
  CHECK(one.compare.repetitions == 2);
}

TEST_CASE("the resolved case reads back to itself") {
  const std::string nasty =
      "title: \"a\\tb\\n#: {c} 'd' \\\"e\\\" \\\\ é ~\"\nboundary: {\"- x: [y]\": {value: '1e-3'}, 'null': "
      "{flux: \" x +\\n 1\"}}\nsolver: {tolerance: 0.1e-9}\noutput: {probes: {p: [1/3, 0.1]}}\n";
  for (const fs::path& file :
       {folder().write("options.yaml", mesh_line + "solver: {preconditioner: {name: chebyshev, degree: 3}}\n"),
        cases / "minimal.yaml", cases / "everything.yaml", folder().write("nasty.yaml", mesh_line + nasty)}) {
    const Case first = read_case(file);
    const std::string text = to_yaml(first);
    INFO(text);
    const Case second = read_case(folder().write("again.yaml", text));
    CHECK(to_yaml(second) == text);
    CHECK(second.title == first.title);
    CHECK(second.solution.name == first.solution.name);
    CHECK(second.solution.unit == first.solution.unit);
    CHECK(second.mesh.source.index() == first.mesh.source.index());
    CHECK(box_of(second).size == box_of(first).size);
    CHECK(second.degree == first.degree);
    CHECK(second.problem.quadrature == first.problem.quadrature);
    REQUIRE(second.problem.boundary.size() == first.problem.boundary.size());
    for (std::size_t i = 0; i < first.problem.boundary.size(); ++i) {
      CHECK(second.problem.boundary[i].group == first.problem.boundary[i].group);
      CHECK(second.problem.boundary[i].kind == first.problem.boundary[i].kind);
      CHECK(second.problem.boundary[i].value(0.3, 0.4, 0.5) == first.problem.boundary[i].value(0.3, 0.4, 0.5));
    }
    CHECK(second.problem.exact.has_value() == first.problem.exact.has_value());
    CHECK(second.solver.tolerance == first.solver.tolerance);
    CHECK(second.solver.preconditioner.name == first.solver.preconditioner.name);
    CHECK(second.solver.preconditioner.options == first.solver.preconditioner.options);
    CHECK(std::ranges::equal(second.output.probes, first.output.probes,
                             [](const auto& a, const auto& b) { return a.name == b.name && a.point == b.point; }));
    CHECK(second.output.directory == first.output.directory);
    CHECK(second.output.fields == first.output.fields);
    CHECK(second.output.boundary == first.output.boundary);
    CHECK(second.compare.operators.size() == first.compare.operators.size());
  }
}

TEST_CASE("a mesh file and its groups") {
  folder().write("part.step", "");
  const Case one = case_of(
      "mesh:\n  file: part.step\n  unit: in\n  scale: 2.5\n  size: 0.05\n  sizes: {base: 0.01, fins: 0.2/10}\n  order: "
      "2\n  cells: tensor\n  refine: 2\n  groups:\n"
      "    base: {dimension: 2, where: \"abs(z) < 1e-9\"}\n    fins: {dimension: 3, tags: [2, 3]}\n"
      "    hole: {dimension: 2, near: [0.01, 2*0.01, 0]}\n    lid: {dimension: 3, name: 'a lid'}\n");
  const auto check = [&](const Case& read) {
    const auto& file = std::get<femcg::mesh::GmshOptions>(read.mesh.source);
    CHECK(file.file == folder().path() / "part.step");
    CHECK(file.size == 0.05);
    CHECK(file.unit == "in");
    CHECK(file.scale == 2.5);
    CHECK(file.sizes == std::map<std::string, double>{{"base", 0.01}, {"fins", 0.02}});
    CHECK(file.order == 2);
    CHECK(file.tensor_cells);
    CHECK(read.mesh.refine == 2);
    CHECK(file.refine == 2);
    REQUIRE(file.groups.size() == 4);
    CHECK(file.groups.at("hole").near == std::vector{0.01, 0.02, 0.0});
    CHECK(file.groups.at("lid").name == "a lid");
    CHECK(file.groups.at("base").dimension == 2);
    CHECK(file.groups.at("base").where(5, 5, 0));
    CHECK_FALSE(file.groups.at("base").where(0, 0, 1));
    CHECK(file.groups.at("fins").tags == std::vector{2, 3});
    CHECK_FALSE(file.groups.at("fins").where);
  };
  check(one);
  fs::create_directories(folder().path() / "elsewhere");
  const Case again = read_case(folder().write("elsewhere/case.yaml", to_yaml(one)));
  check(again);
  CHECK(to_yaml(again) == to_yaml(one));
}

TEST_CASE("layers outside the mesh are a resistance in series with the transfer") {
  const auto condition = [](const std::string& text) {
    const std::string layers = "layers: [{thickness: 0.1, conductivity: 0.5}, {thickness: 0.3, conductivity: 1}]";
    const Case one = read_case(folder().write(
        "layers.yaml", "mesh: {box: {cells: [2, 2]}}\nboundary: {left: {" + layers + ", ambient: 7" + text + "}}\n"));
    const Case again = read_case(folder().write("again.yaml", to_yaml(one)));
    CHECK(again.problem.boundary[0].transfer(1, 2, 0) == one.problem.boundary[0].transfer(1, 2, 0));
    return one.problem.boundary[0];
  };
  CHECK(condition("").kind == BoundaryKind::transfer);
  CHECK(condition("").layers == doctest::Approx(0.5));
  CHECK(condition("").transfer.constant() == doctest::Approx(2));
  CHECK(condition(", transfer: 2").transfer.constant() == doctest::Approx(1));
  CHECK(condition(", transfer: 0").transfer.constant() == 0.0);
  CHECK(condition(", transfer: x + y").transfer(1, 2, 0) == doctest::Approx(3 / (1 + 3 * 0.5)));
  CHECK(condition(", transfer: x + y").ambient.constant() == 7.0);
}

TEST_CASE("all mistakes of a file are reported at once, each at its line and column") {
  const Sentences all = problems_of(cases / "mistakes.yaml");
  const std::string condition =
      "exactly one of {value: u}, {flux: diffusion du/dn}, {transfer: h, ambient: u} or {layers: [...], ambient: u}, "
      "perhaps with transfer";
  const Sentences expected{
      ":5:1: unknown key 'degre'; did you mean 'degree'?",
      ":4:3: unknown key 'mesh.sise'; did you mean 'size'?",
      ":3:30: mesh.box.size has 3 numbers, but mesh.box.cells has 2",
      ":6:9: degree must be a whole number from 1 to 4, not 'two'",
      ":8:11: equation.source: in the expression '2 * sni(x)': unknown name 'sni' at character 5; did you mean 'sin'?",
      ":10:9: boundary.left must be " + condition + ", not '3'",
      ":11:3: boundary.right must be " + condition,
      ":13:14: solver.tolerance must be a number above 0 and below 1, not '-1'"};
  for (const std::string& sentence : expected) CHECK_MESSAGE(std::ranges::find(all, sentence) != all.end(), sentence);
  CHECK(std::ranges::count_if(all, [](const auto& s) {
          return s.starts_with(":15:1: the key 'solver' is repeated") && contains(s, "mistakes.yaml:12:1 already");
        }) == 1);
  CHECK(std::ranges::count_if(all, [](const auto& s) {
          return s.starts_with(":14:13: unknown operator 'cssr'; did you mean 'csr'?") && contains(s, "list operators");
        }) == 1);
  CHECK(all.size() == expected.size() + 2);
}

TEST_CASE("an unknown key names the nearest known one, or all of them") {
  CHECK(problem("degrees: 2\n") == ":2:1: unknown key 'degrees'; did you mean 'degree'?");
  CHECK(problem("solver:\n  tolerence: 1e-3\n") == ":3:3: unknown key 'solver.tolerence'; did you mean 'tolerance'?");
  CHECK(problem("output: {vtk: true}\n") == ":2:10: unknown key 'output.vtk'; did you mean 'vtu'?");
  CHECK(contains(problem("equation: {conductivity: 2}\n"), "known are diffusion or source"));
  CHECK(contains(problem("boundary: {left: {val: 1, value: 1}}\n"), ":2:19: unknown key 'boundary.left.val'"));
  CHECK(contains(problem("compare: {sweeps: 1}\n"), "unknown key 'compare.sweeps'; did you mean 'sweep'?"));
  CHECK(contains(problem("solver: {threads: 2}\n"), "unknown key 'solver.threads'"));
}

TEST_CASE("repeated keys are errors that give both places, wherever they stand") {
  CHECK(contains(problem("degree: 2\ntitle: a\ndegree: 3\n"), ":4:1: the key 'degree' is repeated"));
  CHECK(contains(problem("degree: 2\ntitle: a\ndegree: 3\n"), "case.yaml:2:1 already"));
  CHECK(contains(problem("boundary:\n  left: {value: 1}\n  left: {value: 2}\n"), ":4:3: the key 'left' is repeated"));
  CHECK(contains(problem("equation: {source: {a: 1, a: 2}}\n"), ":2:27: the key 'a' is repeated"));
  CHECK(contains(problem("output: {probes: {p: [0, 0], p: [1, 1]}}\n"), ":2:30: the key 'p' is repeated"));
  CHECK(contains(problem("solver: {operator: {name: csr, name: csr}}\n"), ":2:32: the key 'name' is repeated"));
}

TEST_CASE("wrong types and values say what would be right") {
  CHECK(problem("degree: two\n") == ":2:9: degree must be a whole number from 1 to 4, not 'two'");
  CHECK(problem("degree: 5\n") == ":2:9: degree must be a whole number from 1 to 4, not '5'");
  CHECK(problem("degree: 2.0\n") == ":2:9: degree must be a whole number from 1 to 4, not '2.0'");
  CHECK(problem("degree: [2]\n") == ":2:9: degree must be a whole number from 1 to 4, not a list");
  CHECK(problem("degree:\n  a: 2\n") == ":3:3: degree must be a whole number from 1 to 4, not a map");
  CHECK(problem("points: {a: {at: [0, 0]}}\n") == ":2:13: points.a has no power; it must be such as {power: 5}");
  CHECK(problem("points: {a: {power: 2}}\n") ==
        ":2:13: points.a has no at; it must be such as {at: [0.5, 0.5], power: 5}");
  CHECK(contains(problem("points: {a: 3}\n"), ":2:13: points.a must be a point and its power, such as {at: [0.5"));
  CHECK(contains(problem("points: {a: {at: [0, 0, 1], power: 1}}\n"),
                 "points.a.at must be a point of 2 coordinates, not 3"));
  CHECK(contains(problem("points: {a: {at: [0, 0], power: x}}\n"), ":2:33: points.a.power"));
  CHECK(contains(problem("points: {laser: {at: [0, 0], power: 1}}\nloads: {one: {points: {lasr: {power: 2}}}}\n"),
                 ":3:24: loads.one.points.lasr: 'points' has no point 'lasr'; did you mean 'laser'?"));
  CHECK(contains(problem("points: {a: {at: [0, 0], power: 1}}\nloads: {one: {points: {a: {at: [1, 1], power: 2}}}}\n"),
                 "unknown key 'loads.one.points.a.at'"));
  CHECK(problem("symmetry: 0\n") == ":2:11: symmetry must be a whole number from 1 to 10000, not '0'");
  CHECK(contains(problem("quadrature: 17\n"), ":2:13: quadrature must be a whole number from 2 to 16"));
  CHECK(problem("degree: 3\nquadrature: 3\n") == ":3:13: quadrature must be a whole number from 4 to 16, not '3'");
  CHECK(contains(problem("quadrature: 99999999999999999999\n"), "quadrature must be"));
  CHECK(contains(problem("title: [a]\n"), ":2:8: title must be a text, not a list"));
  CHECK(problem("name: [a]\n") == ":2:7: name must be a text, not a list");
  CHECK(problem("name: \"a\\tb\"\n") ==
        ":2:7: name must be a name in UTF-8 without control characters, such as temperature, not 'a b'");
  CHECK(contains(problem("name: ''\n"), ":2:7: name must be a name in UTF-8"));
  CHECK(problem("name: error\n") ==
        ":2:7: name must be a name that no other field of the files has, such as temperature, not 'error'");
  CHECK(problem("unit: {}\n") == ":2:7: unit must be a text, not a map");
  CHECK(contains(problem("unit: \"\\x01\"\n"), ":2:7: unit must be a unit in UTF-8 without control characters"));
  CHECK(contains(problem("solver: {tolerance: fast}\n"), ":2:21: solver.tolerance must be a number above 0"));
  CHECK(contains(problem("solver: {tolerance: x}\n"), "solver.tolerance must be"));
  CHECK(contains(problem("solver: {tolerance: .nan}\n"), "solver.tolerance must be"));
  CHECK(
      contains(problem("solver: {precision: half}\n"), "solver.precision must be double, single or mixed, not 'half'"));
  CHECK(contains(problem("solver: {device: gpu}\n"),
                 "solver.device must be auto, cpu, cuda, or a GPU by its number such as cuda:1, not 'gpu'"));
  for (const char* device : {"'cuda:'", "'cuda:-1'", "'cuda:1x'", "'cuda:9999'", "'cpu:1'"})
    CHECK(contains(problem("solver: {device: " + std::string(device) + "}\n"),
                   "solver.device must be auto, cpu, cuda, or"));
  CHECK(case_of("mesh: {box: {cells: [4, 4]}}\nsolver: {device: 'cuda:1'}\n").solver.device == "cuda:1");
  CHECK(case_of("mesh: {box: {cells: [4, 4]}}\nsolver: {device: cuda:12}\n").solver.device == "cuda:12");
  CHECK(problem("solver: {preconditioner: ilu}\n") ==
        ":2:26: unknown preconditioner 'ilu'; known are auto, none, jacobi, chebyshev, multigrid, tensor or boomeramg "
        "(see femcg list preconditioners)");
  CHECK(problem("solver: {preconditioner: {name: chebyshev, degree: 17}}\n") ==
        ":2:44: option 'degree' of preconditioner 'chebyshev' must be 1 to 16, not '17'");
  CHECK(problem("solver: {preconditioner: {name: chebyshev, ratio: 1}}\n") ==
        ":2:44: option 'ratio' of preconditioner 'chebyshev' must be a number above 1, not '1'");
  const Case nested = case_of(
      "mesh: {box: {cells: [4, 4]}}\nsolver: {preconditioner: {name: multigrid, levels: {fine: lma-gather}}}\n");
  CHECK(nested.solver.preconditioner.options.at("levels.fine") == "lma-gather");
  CHECK(contains(to_yaml(nested), "preconditioner: {name: multigrid, levels: {fine: lma-gather}}"));
  CHECK(problem("solver: {preconditioner: {name: multigrid, levels: {fine: jad}}}\n") ==
        ":2:53: option 'levels.fine' of preconditioner 'multigrid' must be auto, matrix-free, lma-gather, csr or sell, "
        "not 'jad'");
  CHECK(contains(problem("solver: {preconditioner: {name: multigrid, levels: {middle: csr}}}\n"),
                 ":2:53: preconditioner 'multigrid' has no option 'levels.middle'"));
  CHECK(problem("solver: {preconditioner: {name: jacobi, degree: 2}}\n") ==
        ":2:41: preconditioner 'jacobi' has no option 'degree' (it has none)");
  CHECK(problem("solver: {preconditioner: chebyshev, cg: single-reduction}\n") ==
        ":2:41: solver.cg: single-reduction needs a diagonal preconditioner, which 'chebyshev' is not; use solver.cg: "
        "classic, or solver.preconditioner: jacobi");
  CHECK(problem("solver: {preconditioner: chebyshev, loop: resident}\n") ==
        ":2:43: solver.loop: persistent needs a diagonal preconditioner, which 'chebyshev' is not; use solver.loop: "
        "launched, or solver.preconditioner: jacobi");
  CHECK(problem("solver: {preconditioner: chebyshev, loop: merged}\n") ==
        ":2:43: solver.loop: merged needs a diagonal preconditioner, which 'chebyshev' is not; use solver.loop: "
        "launched, or solver.preconditioner: jacobi");
  CHECK(problem("solver: {cg: pipelined, loop: merged}\n") ==
        ":2:31: solver.loop: merged is of the classic method; leave out solver.cg: pipelined");
  CHECK(problem("solver: {device: cuda, loop: merged}\n") ==
        ":2:30: solver.loop: merged is for CPUs; leave it out, or use solver.device: cpu");
  CHECK(contains(problem("solver: {max_iterations: -1}\n"), "solver.max_iterations must be a whole number from 0"));
  CHECK(contains(problem("solver: csr\n"), ":2:9: solver must be a map with the keys operator, "));
  CHECK(contains(problem("output: {vtu: yes}\n"), ":2:15: output.vtu must be true or false, not 'yes'"));
  CHECK(contains(problem("output: {directory: \"\"}\n"), "output.directory must be the name of a folder"));
  CHECK(contains(problem("output: {probes: {p: [0, 0, 0]}}\n"), ":2:22: output.probes.p must be a point of 2"));
  CHECK(contains(problem("output: {probes: {p: [0, x]}}\n"), ":2:26: output.probes.p[1] must be a number, not 'x'"));
  CHECK(contains(problem("output: {probes: [0, 0]}\n"), "output.probes must be a map"));
  CHECK(contains(problem("ordering: {cells: random}\n"), "ordering.cells must be auto, natural or curve"));
  CHECK(contains(problem("ordering: {unknowns: rcm}\n"), "ordering.unknowns must be first-touch or reverse-cuthill"));
  CHECK(contains(problem("compare: {operators: []}\n"), "compare.operators must be all, or a list"));
  CHECK(contains(problem("compare: {iterations: 0}\n"), "compare.iterations must be a whole number from 1"));
}

TEST_CASE("equation, boundary and exact solution") {
  CHECK(problem("equation: {diffusion: -1}\n") == ":2:23: equation.diffusion must be a positive number, not '-1'");
  CHECK(contains(problem("equation: {diffusion: {a: 1, b: 0}}\n"), ":2:33: equation.diffusion.b must be a positive"));
  CHECK(contains(problem("equation: {source: [1]}\n"), ":2:20: equation.source must be a number, an expression"));
  CHECK(problem("exact: 1/0\n") == ":2:8: exact: 1/0 is not finite (inf)");
  CHECK(contains(problem("exact: \"\"\n"), ":2:8: exact: an expression is missing"));
  CHECK(contains(problem("exact: x = 1\n"), ":2:8: exact: in the expression 'x = 1': '=' assigns"));
  CHECK(contains(problem("exact: 1,5\n"), ":2:8: exact: in the expression '1,5': several values"));
  CHECK(contains(problem("exact: {a: sni(x)}\n"), ":2:12: exact.a: in the expression"));
  CHECK(contains(problem("boundary: 0\n"), ":2:11: boundary must be a map"));
  CHECK(contains(problem("boundary: {left: \"x\"}\n"), ":2:18: boundary.left must be exactly one of {value: u}"));
  CHECK(contains(problem("boundary: {left: {}}\n"), ":2:12: boundary.left must be exactly one of"));
  CHECK(contains(problem("boundary: {left: {transfer: 1}}\n"), ":2:12: boundary.left must be exactly one of"));
  CHECK(contains(problem("boundary: {left: {ambient: 1}}\n"), ":2:12: boundary.left must be exactly one of"));
  CHECK(contains(problem("boundary: {left: {value: 1, transfer: 1, ambient: 0}}\n"), "exactly one of"));
  CHECK(contains(problem("boundary: {left: {transfer: -1, ambient: 0}}\n"), ":2:29: boundary.left.transfer must be"));
  CHECK(contains(problem("boundary: {left: {layers: [{thickness: 1, conductivity: 2}]}}\n"),
                 ":2:12: boundary.left must be"));
  CHECK(contains(
      problem("boundary: {left: {layers: [{thickness: 1}], ambient: 0}}\n"),
      ":2:28: boundary.left.layers[0] has no conductivity; it must be such as {thickness: 0.01, conductivity"));
  CHECK(contains(problem("boundary: {left: {layers: [{thickness: 0, conductivity: 2}], ambient: 0}}\n"),
                 "boundary.left.layers[0].thickness must be a positive number, not '0'"));
  CHECK(contains(problem("boundary: {left: {layers: [2], ambient: 0}}\n"),
                 "boundary.left.layers[0] must be a layer, such as {thickness: 0.01, conductivity: 0.04}, not '2'"));
  CHECK(contains(problem("boundary: {left: {layers: [{thickness: 1, conductivity: 1e-320}], ambient: 0}}\n"),
                 "boundary.left.layers must have a resistance, sum of thickness / conductivity, within the range of"));
  CHECK(contains(problem("boundary: {left: {layers: [{thickness: 1, conductivity: 1}], transfer: -1, ambient: 0}}\n"),
                 "boundary.left.transfer must be a number that is not negative, not '-1'"));
  CHECK(contains(problem("boundary: {left: {layers: 2, ambient: 0}}\n"),
                 "boundary.left.layers must be a list of layers"));
  CHECK(contains(problem("boundary: {left: {layers: [{thickness: 1, conductivity: 2, color: 3}], ambient: 0}}\n"),
                 "unknown key 'boundary.left.layers[0].color'"));
  CHECK(contains(problem("boundary: {left: {value: {box: 1}}}\n"), ":2:26: boundary.left.value must be a number or"));
}

TEST_CASE("operators and their options are checked") {
  CHECK(contains(problem("solver: {operator: elpack}\n"), ":2:20: unknown operator 'elpack'"));
  CHECK(contains(problem("solver: {operator: {name: elpack}}\n"), ":2:27: unknown operator 'elpack'"));
  CHECK(contains(problem("solver: {operator: {name: csr, wheels: 8}}\n"), ":2:32: "));
  CHECK(contains(problem("solver: {operator: {name: csr, wheels: 8}}\n"), "wheels"));
  CHECK(contains(problem("solver: {operator: [csr]}\n"), ":2:20: solver.operator must be a map"));
  CHECK(
      contains(problem("compare: {operators: [csr, cssr]}\n"), ":2:28: unknown operator 'cssr'; did you mean 'csr'?"));
  CHECK(case_of(mesh_line + "compare: {operators: all}\n").compare.operators.size() ==
        femcg::operators::catalogue().size());
}

TEST_CASE("values left empty, merge keys and tags are refused") {
  CHECK(contains(problem("degree:\n"), "degree has no value"));
  CHECK(contains(problem("degree: ~\n"), ":2:9: degree has no value"));
  CHECK(contains(problem("equation:\nboundary: {all: {value: 0}}\n"), "equation has no value"));
  CHECK(contains(problem("boundary: {left: }\n"), "boundary.left has no value"));
  CHECK(contains(problem("solver: {operator: {name: csr, coop: null}}\n"), "solver.operator.coop has no value"));
  CHECK(contains(problem("solver:\n  <<: {device: cpu}\n"), ":3:3: merge keys ('<<') are not read"));
  CHECK(contains(problem("degree: !!str 2\n"), ":2:9: the tag"));
  CHECK(contains(problem("? [a, b]\n: 1\n"), ":2:3: a key must be a plain word"));
}

TEST_CASE("anchors and aliases work, but not without end") {
  CHECK(case_of("mesh: {refine: &n 3, box: {cells: [4, 4]}}\nquadrature: *n\n").problem.quadrature == 3);
  CHECK(problems(mesh_line + "title: &a [*a]\n").size() == 1);
  std::string bomb = mesh_line + "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  CHECK(contains(problems(bomb).front(), "the values are more than 500000"));
  CHECK(contains(problems(mesh_line + "title: &a [*a]\n").front(), "an alias contains itself"));
}

TEST_CASE("mesh: exactly one of file and box, with the keys that go with it") {
  CHECK(problems("degree: 2\n").size() == 1);
  CHECK(contains(problems("degree: 2\n").front(), ":1:1: the case has no mesh"));
  CHECK(contains(problems("\nmesh: {refine: 1}\n").front(), ":2:1: mesh needs either file or box"));
  CHECK(contains(problems("mesh: {file: a.msh, box: {cells: [1, 1]}}\n").front(), ":1:1: mesh has both file and box"));
  CHECK(contains(problems("mesh: a.msh\n").front(), ":1:7: mesh must be a map with the keys file, "));
  CHECK(problems("mesh: a.msh\n").size() == 1);
  CHECK(problems("mesh:\n").size() == 1);
  CHECK(contains(problems("mesh: {box: {size: [1, 1]}}\n").front(), ":1:8: mesh.box needs the number of cells"));
  CHECK(contains(problems("mesh: {box: {cells: [4]}}\n").front(), "must be 2 or 3 whole numbers, not 1"));
  CHECK(contains(problems("mesh: {box: {cells: 4}}\n").front(), ":1:21: mesh.box.cells must be a list"));
  CHECK(
      contains(problems("mesh: {box: {cells: [4, 0]}}\n").front(), ":1:25: mesh.box.cells[1] must be a whole number"));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4], size: [1, -1]}}\n").front(), ":1:39: mesh.box.size[1] must be"));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4], cell: hexahedron}}\n").front(),
                 ":1:35: mesh.box.cell is hexahedron, which has 3 dimensions"));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4, 4], cell: triangle}}\n").front(), "which has 2 dimensions"));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4], cell: hex}}\n").front(), "must be quadrilateral, triangle, "));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4], distort: 0.4}}\n").front(), "from 0 to 0.3 in 2D, not '0.4'"));
  CHECK(
      contains(problems("mesh: {box: {cells: [4, 4, 4], distort: 0.3}}\n").front(), "from 0 to 0.2 in 3D, not '0.3'"));
  CHECK(contains(problems("mesh: {box: {cells: [40000, 40000, 2]}}\n").front(),
                 ":1:21: a box of 40000 x 40000 x 2 makes 3.2e+09 hexahedron cells with 4.8e+09 nodes"));
  CHECK(contains(problems("mesh: {size: 1, box: {cells: [4, 4]}}\n").front(), ":1:8: mesh.size goes with mesh.file"));
  CHECK(contains(problems("mesh: {refine: 13, box: {cells: [4, 4]}}\n").front(), "mesh.refine must be a whole number"));
  CHECK(box_of(case_of("mesh: {box: {cells: [1, 2, 3]}}\n")).shape == femcg::mesh::CellShape::hexahedron);
}

TEST_CASE("mesh files must be there and of a known kind") {
  folder().write("plate.msh", "");
  folder().write("plate.stl", "");
  folder().write("plate.geo", "");
  CHECK(contains(problems("mesh:\n  file: absent.msh\n").front(), ":2:9: mesh.file: there is no such file: '"));
  CHECK(contains(problems("mesh:\n  file: absent.msh\n").front(), (folder().path() / "absent.msh").string()));
  CHECK(contains(problems("mesh: {file: plate.stl}\n").front(), ":1:14: mesh.file must be .msh, .inp, "));
  CHECK(contains(problems("mesh: {file: .}\n").front(), "mesh.file is a directory"));
  CHECK(contains(problems("mesh: {file: plate.msh, size: 1}\n").front(), ":1:31: mesh.size is for geometry files"));
  CHECK(problems("mesh: {file: plate.geo, size: 1, order: 4}\n").empty());
  CHECK(contains(problems("mesh: {file: plate.geo, size: 0}\n").front(), "mesh.size must be a positive number"));
  CHECK(contains(problems("mesh: {file: plate.geo, order: 5}\n").front(),
                 "mesh.order must be a whole number from 1 to 4"));
  CHECK(contains(problems("mesh: {file: plate.geo, cells: quads}\n").front(),
                 "mesh.cells must be auto, simplex or tensor"));
  const auto group = [](const std::string& rule) {
    const Sentences all = problems("mesh: {file: plate.msh, groups: {g: " + rule + "}}\n");
    REQUIRE(all.size() == 1);
    return all.front();
  };
  CHECK(contains(group("{tags: [1]}"), ":1:34: mesh.groups.g needs its dimension"));
  CHECK(contains(group("{dimension: 2}"), "mesh.groups.g needs either tags, where, near or name, exactly one"));
  CHECK(contains(group("{dimension: 2, tags: [1], where: x}"), "needs either tags, where, near or name"));
  CHECK(contains(group("{dimension: 4, tags: [1]}"), "mesh.groups.g.dimension must be a whole number from 1 to 3"));
  CHECK(contains(group("{dimension: 2, tags: [a]}"), "mesh.groups.g.tags[0] must be a whole number"));
  CHECK(contains(group("{dimension: 2, where: 'z <'}"), "in the expression 'z <'"));
  CHECK(contains(group("3"), "mesh.groups.g must be a map"));
  CHECK(
      contains(group("{dimension: 2, near: [1]}"), ":1:58: mesh.groups.g.near must be a point of 2 or 3 coordinates"));
  CHECK(contains(group("{dimension: 2, near: 1}"), "mesh.groups.g.near must be a point of 2 or 3 coordinates"));
  CHECK(contains(group("{dimension: 2, near: [1, a]}"), ":1:62: mesh.groups.g.near[1] must be a number"));
  CHECK(contains(group("{dimension: 2, near: [1, 2], tags: [1]}"), "exactly one of them"));
  CHECK(contains(group("{dimension: 2, name: ''}"), ":1:58: mesh.groups.g.name must be a name that the file gives"));
  CHECK(contains(group("{dimension: 2, name: [a]}"), "mesh.groups.g.name must be a text"));
}

TEST_CASE("files that are no case") {
  CHECK(problems_of(folder().path() / "absent.yaml") == Sentences{": there is no such file"});
  CHECK(contains(problems_of(folder().path()).front(), "this is a directory"));
  CHECK(problems("").size() == 1);
  CHECK(contains(problems("").front(), ": the case is empty"));
  CHECK(contains(problems("# nothing\n").front(), ": the case is empty"));
  CHECK(contains(problems("---\n").front(), ": the case is empty"));
  CHECK(contains(problems("- 1\n- 2\n").front(), ":1:1: a case is a map"));
  CHECK(contains(problems("hello\n").front(), ":1:1: a case is a map"));
  CHECK(contains(problems(std::string("a\0b", 3)).front(), "binary"));
  CHECK(contains(problems(mesh_line + "---\ndegree: 2\n").front(), "a second document begins"));
  CHECK(problems(mesh_line + "---\ndegree: 2\n").front().starts_with(":2:1: "));
  CHECK(contains(problems("mesh: {box: {cells: [4, 4]}\ndegree: 2\n").front(), "not valid YAML"));
  CHECK(contains(problems(mesh_line + "solver:\n\tdevice: cpu\n").front(), ":3:1: a tab indents"));
  CHECK(contains(problems(mesh_line + "title: a: b\n").front(), ":2:9: this is not valid YAML"));
  CHECK(contains(problems(mesh_line + "title: \"open\ndegree: 2\n").front(), "a quote is never closed"));
  CHECK(contains(problems(std::string(100000, '[')).front(), "nested too deeply"));
  CHECK(contains(problems(std::string(1'100'000, '#')).front(), "too large"));
  for (const std::string& text :
       {std::string("\xff\xfe\x00"), std::string("%YAML 3.0\n---\na: 1\n"), std::string("*a\n"), std::string("a: *b\n"),
        std::string("&a"), std::string("!"), std::string("{{}}"), std::string("? \n: \n"), std::string("\xef\xbb\xbf"),
        std::string("a: |\n"), std::string("@")})
    CHECK_MESSAGE(problems(text).size() >= 1, text);
}

TEST_CASE("Windows line ends change nothing") {
  CHECK(case_of("mesh: {box: {cells: [4, 4]}}\r\ndegree: 2\r\n").degree == 2);
}

TEST_CASE("overrides win over the file") {
  const std::string text = mesh_line + "degree: 2\n";
  CHECK(case_of(text, {{"degree", "3"}}).degree == 3);
  CHECK(case_of(text, {{"degree", "3"}, {"degree", "4"}}).degree == 4);
  CHECK(case_of(text, {{"degree", "3"}}).problem.quadrature == 4);
  CHECK(box_of(case_of(text, {{"mesh.box.cells", "[128, 64]"}})).cells[0] == 128);
  CHECK(box_of(case_of(text, {{"mesh.box.cells.1", "9"}})).cells[1] == 9);
  CHECK(case_of(text, {{"solver.tolerance", "1e-3"}}).solver.tolerance == 1e-3);
  CHECK(case_of(text, {{"solver", "{tolerance: 1e-3}"}}).solver.tolerance == 1e-3);
  CHECK(case_of(text, {{"boundary.left.value", "x+1"}}).problem.boundary.at(0).value(1, 0, 0) == 2);
  CHECK(case_of(text, {{"solver.operator", "csr", "--operator"}}).solver.op.name == "csr");
  CHECK(case_of(text, {{"output.directory", "a: [b]", "--output", true}}).output.directory == "a: [b]");
  CHECK(case_of("degree: 1\n", {{"mesh.box.cells", "[2,2]"}}).degree == 1);
  CHECK(case_of(mesh_line + "degree: five\n", {{"degree", "2"}}).degree == 2);
  CHECK(case_of(mesh_line + "degree: five\n", {{"degree", ""}}).degree == case_of(mesh_line).degree);  // removed
}

TEST_CASE("mistakes in overrides are placed at the option") {
  CHECK(override_problem({"degree", "five"}) == "--set degree: degree must be a whole number from 1 to 4, not 'five'");
  CHECK(override_problem({"degre", "2"}) == "--set degre: unknown key 'degre'; did you mean 'degree'?");
  CHECK(override_problem({"solver.tol", "1"}).starts_with("--set solver.tol: unknown key 'solver.tol'"));
  CHECK(override_problem({"solver", "{tol: 1}"}).starts_with("--set solver: unknown key 'solver.tol'"));
  CHECK(override_problem({"degree", "[1"}).starts_with("--set degree: this is not valid YAML"));
  CHECK(override_problem({"degree.x", "1"}).starts_with("--set degree.x: 'degree' is '2' and has no 'x'"));
  CHECK(override_problem({"", "1"}).starts_with("--set : a key is missing"));
  CHECK(override_problem({"solver.", "1"}).starts_with("--set solver.: a key is missing"));
  CHECK(
      override_problem({"mesh.box.cells.2", "1"}).starts_with("--set mesh.box.cells.2: '2' is no item of a list of 2"));
  CHECK(override_problem({"exact", "sni(x)"}).starts_with("--set exact: in the expression 'sni(x)'"));
  CHECK(override_problem({"solver.operator", "cssr", "--operator"}).starts_with("--operator: unknown operator 'cssr'"));
  CHECK(override_problem({"solver.operator.wheels", "3"}).starts_with("--set solver.operator.wheels: "));
  CHECK(override_problem({"solver.device", "gpu", "--device", true}).starts_with("--device: solver.device must be"));
  CHECK(problems(mesh_line + "degree: five\n", {{"solver.tolerance", "7"}, {"degre", "1"}}).size() == 3);
}

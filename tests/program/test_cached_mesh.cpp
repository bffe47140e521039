// Meshes of geometry files cached across runs.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "mesh/box/box.hpp"
#include "mesh/gmsh/check/geo_words.hpp"
#include "solver/problem/cached_mesh.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

namespace fs = std::filesystem;
using namespace femcg;
using namespace femcg::tests;
using solver::cached_or_made;
using solver::MeshKey;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("femcg_test_kept_mesh_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path)) found.push_back(entry.path());
    return found;
  }
};

mesh::Mesh some_mesh() {
  mesh::Mesh made = mesh::make_box({mesh::CellShape::tetrahedron, {3, 2, 2}, {1, 2, 3}, 0.1});
  made.warnings = {"joined 2 solids"};
  made.region_names = {"lead, with \"quotes\""};
  return made;
}

mesh::Mesh never() { throw std::logic_error("made although it is kept"); }

void check_same(const mesh::Mesh& a, const mesh::Mesh& b) {
  CHECK(a.shape == b.shape);
  CHECK(a.order == b.order);
  CHECK(a.coordinates == b.coordinates);
  CHECK(a.cell_nodes == b.cell_nodes);
  CHECK(a.cell_regions == b.cell_regions);
  CHECK(a.region_names == b.region_names);
  REQUIRE(a.boundaries.size() == b.boundaries.size());
  for (std::size_t g = 0; g < a.boundaries.size(); ++g) {
    CHECK(a.boundaries[g].name == b.boundaries[g].name);
    REQUIRE(a.boundaries[g].facets.size() == b.boundaries[g].facets.size());
    for (std::size_t f = 0; f < a.boundaries[g].facets.size(); ++f) {
      CHECK(a.boundaries[g].facets[f].cell == b.boundaries[g].facets[f].cell);
      CHECK(a.boundaries[g].facets[f].facet == b.boundaries[g].facets[f].facet);
    }
  }
}

const MeshKey key{"size: 1", "a solid"};

}  // namespace

TEST_CASE("a mesh that was kept is the one that was made, and says so") {
  const Folder folder;
  const mesh::Mesh made = cached_or_made(folder.path, key, some_mesh);
  CHECK(made.warnings == std::vector<std::string>{"joined 2 solids"});
  const mesh::Mesh kept = cached_or_made(folder.path, key, never);
  check_same(kept, made);
  REQUIRE(kept.warnings.size() == 2);
  CHECK(kept.warnings[0] == "joined 2 solids");
  CHECK(contains(kept.warnings[1], "kept by an earlier run"));
  CHECK(contains(kept.warnings[1], "mesh.cache: false"));
  CHECK(folder.files().size() == 1);
}

TEST_CASE("another option or another content is another mesh") {
  const Folder folder;
  cached_or_made(folder.path, key, some_mesh);
  CHECK_THROWS_AS(cached_or_made(folder.path, {"size: 2", "a solid"}, never), std::logic_error);
  CHECK_THROWS_AS(cached_or_made(folder.path, {"size: 1", "a solie"}, never), std::logic_error);
  // The key itself is compared, not only its checksum.
  cached_or_made(folder.path, {"size: 2", "a solid"}, some_mesh);
  REQUIRE(folder.files().size() == 2);
  const fs::path first = folder.files()[0], second = folder.files()[1];
  fs::copy_file(first, folder.path / "other", fs::copy_options::overwrite_existing);
  fs::rename(second, first);
  fs::rename(folder.path / "other", second);
  CHECK_THROWS_AS(cached_or_made(folder.path, key, never), std::logic_error);
}

TEST_CASE("a kept mesh that is damaged anywhere is made anew, which is said once") {
  const Folder folder;
  const mesh::Mesh made = cached_or_made(folder.path, key, some_mesh);
  const fs::path file = folder.files().front();
  const std::string whole = contents(file);
  std::vector<std::string> damaged{"", "x", whole.substr(0, whole.size() - 8), whole.substr(0, 100),
                                   whole + "12345678"};
  for (std::size_t at = 0; at < whole.size(); at += 101) {
    damaged.push_back(whole);
    damaged.back()[at] ^= 4;
  }
  for (const std::string& text : damaged) {
    std::ofstream(file, std::ios::binary) << text;
    CHECK_THROWS_AS(cached_or_made(folder.path, key, never), std::logic_error);
  }
  const mesh::Mesh again = cached_or_made(folder.path, key, some_mesh);
  REQUIRE(again.warnings.size() == 2);
  CHECK(contains(again.warnings[1], "is damaged"));
  check_same(cached_or_made(folder.path, key, never), made);
}

TEST_CASE("a cached mesh whose checksum holds but that no mesh can be is made anew") {
  const Folder folder;
  const auto check = [&](const std::function<void(mesh::Mesh&)>& spoil) {
    cached_or_made(folder.path, key, [&] {
      mesh::Mesh bad = some_mesh();
      spoil(bad);
      return bad;
    });
    CHECK_THROWS_AS(cached_or_made(folder.path, key, never), std::logic_error);
    for (const fs::path& file : folder.files()) fs::remove(file);
  };
  check([](mesh::Mesh& bad) { bad.cell_nodes[5] = 1'000'000; });
  check([](mesh::Mesh& bad) { bad.cell_nodes[5] = -1; });
  check([](mesh::Mesh& bad) { bad.cell_nodes.pop_back(); });
  check([](mesh::Mesh& bad) { bad.cell_regions[0] = 1; });
  check([](mesh::Mesh& bad) { bad.coordinates.pop_back(); });
  check([](mesh::Mesh& bad) { bad.coordinates[0] = NAN; });
  check([](mesh::Mesh& bad) { bad.boundaries[0].facets[0].facet = 4; });
  check([](mesh::Mesh& bad) { bad.boundaries[0].facets[0].cell = 1'000'000; });
  check([](mesh::Mesh& bad) { bad.order = 5; });
  check([](mesh::Mesh& bad) { bad.shape = static_cast<mesh::CellShape>(4); });
  check([](mesh::Mesh& bad) { bad = {}; });
}

TEST_CASE("links and pipes in the cache are neither read nor written to") {
  const Folder folder;
  cached_or_made(folder.path, key, some_mesh);
  const fs::path file = folder.files().front(), elsewhere = folder.path / "elsewhere";
  fs::rename(file, elsewhere);
  const std::string before = contents(elsewhere);
  const auto check_left_alone = [&] {
    const mesh::Mesh made = cached_or_made(folder.path, key, some_mesh);
    REQUIRE(made.warnings.size() == 2);
    CHECK(contains(made.warnings[1], "cannot be written"));
    CHECK(fs::symlink_status(file).type() != fs::file_type::regular);
  };
  fs::create_symlink(elsewhere, file);
  check_left_alone();
  fs::remove(file);
  fs::create_symlink(folder.path / "nowhere", file);
  check_left_alone();
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  check_left_alone();
  CHECK(contents(elsewhere) == before);
  CHECK(folder.files().size() == 2);
}

TEST_CASE("where nothing can be kept a mesh is made, with a remark") {
  const Folder folder;
  std::ofstream(folder.path / "file") << "no folder";
  const mesh::Mesh made = cached_or_made(folder.path / "file" / "meshes", key, some_mesh);
  REQUIRE(made.warnings.size() == 2);
  CHECK(contains(made.warnings[1], "cannot be written"));
}

TEST_CASE("the longest unused go where all take too much") {
  const Folder folder;
  cached_or_made(folder.path, key, some_mesh);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(folder.files().front()));
  fs::last_write_time(folder.files().front(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  cached_or_made(folder.path, {"size: 2", ""}, some_mesh, 5 * bytes / 2);
  CHECK(folder.files().size() == 2);
  cached_or_made(folder.path, key, never);  // used now, and no longer the oldest
  for (const fs::path& file : folder.files())
    if (fs::last_write_time(file) < fs::file_time_type::clock::now() - std::chrono::hours(1)) FAIL("not used");
  cached_or_made(folder.path, {"size: 3", ""}, some_mesh, 5 * bytes / 2);
  CHECK(folder.files().size() == 2);
  CHECK_THROWS_AS(cached_or_made(folder.path, {"size: 2", ""}, never), std::logic_error);
}

TEST_CASE("a .geo file that reads others is not known by its content") {
  CHECK(solver::why_not_cached("a.geo", "Point(1) = {0, 0, 0};").empty());
  CHECK(contains(solver::why_not_cached("a.geo", "Merge \"b.step\";"), "'a.geo' has Merge"));
  CHECK(contains(solver::why_not_cached("A.GEO", "Include \"b.geo\";"), "Include"));
  CHECK(solver::why_not_cached("a.step", "Include").empty());
  CHECK(contains(solver::why_not_cached("a.stp", "#7=DOCUMENT_FILE('b.stp');"), "DOCUMENT_FILE"));
  const auto open = [](const std::string& script) {
    return std::string(
        femcg::mesh::first_open_name("SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 1, 1e-3, .5};\n" + script));
  };
  CHECK(open("").empty());
  CHECK(
      open("h = 0.1; lc[] = {1, 2}; p~{1} = newp; n += 1; i++; For k In {1:3} Printf(\"%g\", k * h); EndFor").empty());
  CHECK(open("Macro Plate Return Call Plate; s() = Extrude {0, 0, h} { Surface{1}; Layers{3}; }; h = 1;").empty());
  CHECK(open("// Include\n/* Merge */ Physical Volume(\"Merge\") = {1}; Mesh.MeshSizeMax = 0.1;").empty());
  CHECK(open("p() = ListFromFile(\"sizes.txt\");") == "ListFromFile");
  CHECK(open("Field[1] = Structured;") == "Structured");
  CHECK(open("Structured = 1; Field[1] = Structured; Field[1].FileName = \"size.txt\";") == "FileName");
  CHECK(open("If (Cpu == 3)") == "Cpu");
  CHECK(open("If (Cpu <= 3)") == "Cpu");
  CHECK(open("x = TotalMemory;") == "TotalMemory");
  CHECK(open("x = Today;") == "Today");
  CHECK(open("x = Rand(1);") == "Rand");
  CHECK(open("x = GetNumber(\"a\", 1);") == "GetNumber");
  CHECK(open("x = CurrentDirectory;") == "CurrentDirectory");
  CHECK(open("Mesh.Unknown = 1;") == "Unknown");
  CHECK(open("unset") == "unset");
  for (const auto& entry : fs::directory_iterator(source_directory() / "cases/meshes"))
    CHECK_MESSAGE(solver::why_not_cached(entry.path(), contents(entry.path())).empty(), entry.path());
}

TEST_CASE("a geometry that reads another file is meshed anew" * needs_gmsh()) {
  const std::string run = "$femcg run case.yaml --quiet --output made && grep -o '\"cells\": [0-9]*' made/result.json";
  const Result result =
      shell(file("part.geo",
                 "SetFactory(\"OpenCASCADE\");\np() = ListFromFile(\"sizes.txt\");\nRectangle(1) = {0, 0, 0, p(0), "
                 "p(1)};\n") +
            file("case.yaml",
                 "mesh: {file: part.geo, unit: m, size: 0.5}\nexact: \"1\"\nboundary: {all: {value: 1}}\noutput: {vtu: "
                 "false}\n") +
            "export XDG_CACHE_HOME=$PWD/cache\n(echo 1 1 > sizes.txt; " + run + "; echo 3 2 > sizes.txt; " + run +
            ") | sort -u | wc -l");
  CHECK(result.out == "2\n");
}

TEST_CASE("a second run finds the mesh, unless it is told not to" * needs_gmsh()) {
  const std::string run = "XDG_CACHE_HOME=$PWD/cache $femcg run case.yaml --set mesh.size=0.5 --quiet ";
  const Result result =
      shell(file("part.geo", "SetFactory(\"OpenCASCADE\"); Box(1) = {0, 0, 0, 1, 1, 1};\n") +
            file("case.yaml",
                 "mesh: {file: part.geo, unit: m}\nequation: {source: 1}\nboundary: {all: {value: 0}}\n"
                 "output: {vtu: false}\n") +
            run + "--output 1 && " + run + "--output 2 && " + run + "--set mesh.cache=false --output 3 && " + run +
            "--set mesh.order=2 --output 4 && grep -l 'kept by an earlier run' */result.json; "
            "grep -ho '\"integral\": [0-9.]\\{8\\}' */result.json | sort -u | wc -l; ls cache/femcg/meshes | wc -l");
  CHECK(result.err.empty());
  CHECK(result.out == "2/result.json\n1\n2\n");  // order 2 is another mesh, of the same cube
}

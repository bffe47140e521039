#include <doctest/doctest.h>
#include <fcntl.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mesh/gmsh/process/child_process.hpp"
#include "mesh/gmsh/process/sandbox.hpp"
#include "tests/gmsh.hpp"
#include "tests/program.hpp"

namespace {

using namespace femcg::mesh;
using namespace femcg::tests;

ChildEnd end_of(const std::function<void(SharedWriter&)>& work) { return run_in_child(work).end; }

/// True if a process runs; a zombie does not.
bool runs(pid_t process) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return stream >> number >> name >> state && state != "Z";
}

/// True if `ended` holds within ten seconds.
template <class Condition>
bool soon(Condition ended) {
  for (int attempt = 0; attempt < 1000 && !ended(); ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return ended();
}

/// Address space of this program in kibibytes.
const long addresses = [] {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmSize:") {
  }
  long kibibytes = 0;
  status >> kibibytes;
  return kibibytes;
}();

/// Skips cases that end in std::bad_alloc under a sanitizer, whose terabytes of addresses make the program end instead.
doctest::skip runs_out_of_memory(bool possible = true) { return doctest::skip(!possible || addresses > 1000000000); }

const std::string case_file =
    "echo '{mesh: {file: mesh.geo}, equation: {source: 1}, boundary: {all: {value: 0}}, output: {vtu: false}}' "
    "> case.yaml\n";
const std::string square = "SetFactory(\"OpenCASCADE\"); Rectangle(1) = {0, 0, 0, 1, 1};";

std::string geometry(const std::string& text) {
  return case_file + "cat > mesh.geo <<'end of file'\n" + text + "\nend of file\n";
}

}  // namespace

TEST_CASE("numbers, texts and arrays come back as they were, small and large") {
  std::vector<double> large(300000);
  std::iota(large.begin(), large.end(), 0.5);
  const std::vector<int> small{1, 2, 3};
  const ChildResult result = run_in_child([&](SharedWriter& writer) {
    writer.text("lost");
    writer.array(std::span(large));
    writer.restart();
    writer.number(-7);
    writer.text("a word");
    writer.array(std::span(small));
    writer.array(std::span(large));
    writer.number(8);
  });
  REQUIRE(result.end == ChildEnd::done);
  SharedReader reader(result.bytes);
  CHECK(reader.number() == -7);
  CHECK(reader.text() == "a word");
  const auto numbers = reader.array<int>();
  CHECK(std::vector<int>(numbers.begin(), numbers.end()) == small);
  const auto reals = reader.array<double>();
  CHECK(std::vector<double>(reals.begin(), reals.end()) == large);
  CHECK(reader.number() == 8);
  CHECK_THROWS_AS(reader.number(), std::runtime_error);
  SharedReader damaged(result.bytes);
  CHECK_THROWS_AS(damaged.array<double>(), std::runtime_error);  // size -7
}

TEST_CASE("whatever the work does to its process, this one lives on") {
  CHECK(end_of([](SharedWriter&) { std::raise(SIGSEGV); }) == ChildEnd::crashed);
  CHECK(end_of([](SharedWriter&) { std::abort(); }) == ChildEnd::crashed);
  CHECK(end_of([](SharedWriter&) { std::terminate(); }) == ChildEnd::crashed);
  CHECK(end_of([](SharedWriter&) { throw std::runtime_error("out of its thread"); }) == ChildEnd::crashed);
  CHECK(end_of([](SharedWriter&) { std::exit(0); }) == ChildEnd::exited);
  CHECK(end_of([](SharedWriter&) { _exit(7); }) == ChildEnd::exited);
  CHECK(end_of([](SharedWriter&) { std::raise(SIGINT); }) == ChildEnd::interrupted);
  const auto hangup = std::signal(SIGHUP, SIG_IGN);  // as under nohup
  CHECK(end_of([](SharedWriter&) { std::raise(SIGHUP); }) == ChildEnd::done);
  std::signal(SIGHUP, hangup);
  CHECK(end_of([](SharedWriter& writer) { writer.number(1); }) == ChildEnd::done);
}

TEST_CASE("the work writes nothing to standard output and starts no program") {
  const std::filesystem::path trace =
      std::filesystem::temp_directory_path() / ("femcg_child_" + std::to_string(getpid()));
  const ChildResult result = run_in_child([&](SharedWriter& writer) {
    writer.number(std::system(("touch " + trace.string()).c_str()));
    writer.number(::write(STDOUT_FILENO, "noise\n", 6));
  });
  REQUIRE(result.end == ChildEnd::done);
  CHECK(SharedReader(result.bytes).number() != 0);
  CHECK_FALSE(std::filesystem::exists(trace));
  CHECK(std::system("true") == 0);
}

TEST_CASE("the work changes no file, by either means") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("femcg_sandbox_" + std::to_string(getpid()));
  const std::string file = folder / "file", other = folder / "other", made = folder / "made";
  /// Number of possible ways to change a file system, and whether it can be read.
  const auto attempts = [&](SharedWriter& writer) {
    int open = 0;
    const auto count = [&](bool done) { open += done ? 1 : 0; };
    for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_CREAT})
      count(::open(flags & O_CREAT ? other.c_str() : file.c_str(), flags, 0600) >= 0);
    count(std::ofstream(file).is_open());
    count(::truncate(file.c_str(), 0) == 0);
    count(std::rename(file.c_str(), made.c_str()) == 0);
    count(::mkdir(made.c_str(), 0700) == 0);
    count(::symlink(file.c_str(), made.c_str()) == 0);
    count(::link(file.c_str(), made.c_str()) == 0);
    count(::mkfifo(made.c_str(), 0600) == 0);
    count(::unlink(file.c_str()) == 0);
    count(::rmdir(folder.c_str()) == 0);
    writer.number(open);
    writer.number(contents(file) == "precious");
  };
  const auto check_nothing_open = [&](const ChildResult& result, int ways) {
    REQUIRE(result.end == ChildEnd::done);
    SharedReader reader(result.bytes);
    CHECK(reader.number() == ways);
    CHECK(reader.number() == 1);
    CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  };
  fs::create_directories(folder);
  std::ofstream(file) << "precious";
  check_nothing_open(run_in_child(attempts), 0);
  // Each by itself: a kernel may lack the other.
  for (const auto& forbid : {forbid_programs_and_writing, forbid_writing_by_landlock}) {
    const int answer = memfd_create("femcg", 0);
    const pid_t child = fork();
    if (child == 0) {
      if (!forbid()) _exit(77);
      SharedWriter writer(answer);
      attempts(writer);
      writer.flush();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::int64_t numbers[2] = {};
    const bool known = WEXITSTATUS(status) != 77;
    CHECK((!known || ::pread(answer, numbers, sizeof numbers, 0) == sizeof numbers));
    if (known) CHECK(numbers[0] == 0);
    if (known) CHECK(numbers[1] == 1);
    CHECK(contents(file) == "precious");
    close(answer);
  }
  fs::remove_all(folder);
}

TEST_CASE("OpenMP works in the child of a process whose threads have worked") {
  int sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i;
  const ChildResult result = run_in_child([](SharedWriter& writer) {
    int in_child = 0, threads = 0;
#pragma omp parallel for num_threads(3) reduction(+ : in_child) reduction(max : threads)
    for (int i = 0; i < 100; ++i) in_child += i, threads = omp_get_num_threads();
    writer.number(in_child);
    writer.number(threads);
  });
  REQUIRE(result.end == ChildEnd::done);
  SharedReader reader(result.bytes);
  CHECK(reader.number() == sum);
  CHECK(reader.number() == 3);
}

TEST_CASE("a process that is ended takes its child along") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t process = fork();
  if (process == 0) {
    std::signal(SIGTERM, SIG_DFL);  // instead of doctest's handler
    run_in_child([&](SharedWriter&) {
      const pid_t self = getpid();
      if (::write(ends[1], &self, sizeof self) == sizeof self) pause();
    });
    _exit(0);
  }
  pid_t child = 0;
  REQUIRE(::read(ends[0], &child, sizeof child) == sizeof child);
  CHECK(runs(child));
  kill(process, SIGTERM);
  int status = 0;
  waitpid(process, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(soon([&] { return !runs(child); }));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a geometry ends Gmsh at most, and runs nothing" * needs_gmsh()) {
  check_refused("run case.yaml", "mesh.geo: it made Gmsh end before there was a mesh", geometry(square + "\nExit;"));
  check_refused("run case.yaml", "mesh.geo: line 3: SystemCall would run a command",
                geometry("// System\n/* SystemCall */ Printf('System');\nSystemCall 'touch trace';" + square));
  check_refused("run case.yaml", "line 1: System would run a command", geometry("System \"true\";"));
  const std::string included =
      geometry("Include 'more.geo';\n" + square) + "echo \"SystemCall 'touch trace';\" > more.geo\n";
  check_refused("run case.yaml", "aborting system call", included);
  CHECK_FALSE(contains(shell(included + "$femcg run case.yaml; ls").out, "trace"));
}

TEST_CASE("options beside a mesh or geometry are not run, and a geometry writes nothing" * needs_gmsh()) {
  const std::string options = "echo 'Printf(\"lost\") > \"file\"; Mesh.MeshSizeFactor = 0.1;' > ";
  const std::string run = "echo precious > file; $femcg run case.yaml --set mesh.file=";
  const auto check = [&](const std::string& name, const std::string& make) {
    const Result result =
        shell(make + options + name + ".opt; " + run + name + " > summary; cat file; cat summary >&2");
    INFO(name, ": ", result.err);
    CHECK(result.out == "precious\n");
    CHECK(contains(result.err, name + ".opt, options of Gmsh's own programs, is not read"));
  };
  check("mesh.geo", geometry(square));
  check("square.msh", case_file + "cp $cases/../meshes/square.msh .; ");
  check_refused("run case.yaml", "line 2: Merge would have Gmsh run part.step.opt as a script, too",
                geometry("// Merge\nMerge \"part.step\";") + "touch part.step.opt\n");
  check_refused("run case.yaml", "line 2: Save would write a file", geometry(square + "\nSave \"mesh.msh\";"));
  check_refused("run case.yaml", "line 2: Unable to open file", geometry(square + "\nPrintf('x') > 'file';"));
}

TEST_CASE("a child that takes all memory is told apart from one that crashes" * runs_out_of_memory()) {
  CHECK(end_of([](SharedWriter&) {
          for (std::vector<std::vector<char>> all;;) all.emplace_back().reserve(std::size_t{1} << 30);
        }) == ChildEnd::out_of_memory);
}

TEST_CASE("a geometry that takes all memory is refused with what there is" *
          runs_out_of_memory(femcg::mesh::gmsh_available())) {
  // More than femcg needs to start: with CUDA its libraries alone reserve a gigabyte of addresses.
  const std::string limited =
      "limit=400000\n"
      "until (ulimit -v $limit; $femcg --version) > version 2>&1; do limit=$((limit + 100000)); done\n"
      "ulimit -v $((limit + 600000))\n";
  // On a busy machine this takes long enough for progress to be shown.
  check_refused("run --no-progress case.yaml", "of memory that are free for it",
                geometry("list[] = {1 : 2000000000};\n" + square) + limited);
}

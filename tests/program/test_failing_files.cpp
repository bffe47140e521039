// Any file system call fails at any time: the results folder then has all files of the earlier results, or all of the
// new ones, or lacks the file that marks it complete; and it contains nothing else.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "solver/benchmark/cached_bandwidth.hpp"
#include "solver/case/case.hpp"
#include "solver/compare/compare.hpp"
#include "solver/run/run.hpp"
#include "tests/program.hpp"

namespace {

/// Number of calls until one fails, and its error; 0: none fails. Output to a terminal is not counted. A directory that
/// cannot be flushed, or a copy bandwidth that cannot be cached, does not make the command fail.
long until_failure = 0;
int failure = ENOSPC;

bool fails() {
  if (until_failure <= 0 || --until_failure > 0) return false;
  errno = failure;
  return true;
}

}  // namespace

// These replace the functions of the C library.
extern "C" ssize_t write(int descriptor, const void* data, size_t size) {
  if (descriptor > 2 && fails()) return -1;
  return syscall(SYS_write, descriptor, data, size);
}
extern "C" int fsync(int descriptor) { return fails() ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor)); }
extern "C" int rename(const char* from, const char* to) noexcept {
  return fails() ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace {

namespace solver = femcg::solver;
namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

/// A folder for the test, without a cache: writing bandwidths there depends on the load of the machine, and would
/// change the number of calls.
struct Folder {
  Folder() {
    fs::create_directories(path);
    std::ofstream(path / "no_cache") << "a file";
    setenv("XDG_CACHE_HOME", (path / "no_cache").c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path = fs::temp_directory_path() / ("femcg_failing_files_" + std::to_string(::getpid()));
};

Contents contents_of(const fs::path& folder) {
  Contents all;
  for (const auto& entry : fs::directory_iterator(folder))
    all[entry.path().filename().string()] = femcg::tests::contents(entry.path());
  return all;
}

std::vector<std::string> names_of(const Contents& all) {
  std::vector<std::string> names;
  for (const auto& [name, text] : all) names.push_back(name);
  return names;
}

/// write(false) writes the earlier results and write(true) the new ones, whose n-th call fails, n = 1, 2, ... until
/// none fails any more. `whole`: file that marks the others as belonging to one run.
template <class Write>
void fail_one_after_the_other(const fs::path& results, const std::string& whole, const Write& write) {
  int kept = 0, replaced = 0, neither = 0;
  write(false);
  const Contents before = contents_of(results);
  for (long n = 1;; ++n) {
    CAPTURE(n);
    CAPTURE(failure);
    fs::remove_all(results);
    fs::create_directory(results);
    for (const auto& [name, text] : before) std::ofstream(results / name, std::ios::binary) << text;
    until_failure = n;
    bool failed = false;
    try {
      write(true);
    } catch (const std::system_error& error) {
      failed = true;
      CHECK(error.code().value() == failure);
    }
    const bool over = until_failure > 0;
    until_failure = 0;
    const Contents after = contents_of(results);
    if (over) {
      CHECK_FALSE(failed);
      CHECK(names_of(after) == names_of(before));
      CHECK(after.at(whole) != before.at(whole));
      break;
    }
    for (const auto& [name, text] : after) CHECK(before.contains(name));
    if (after == before) {
      CHECK(failed);
      ++kept;
    } else if (after.contains(whole)) {
      ++replaced;
      CHECK(after.at(whole) != before.at(whole));
    } else {
      CHECK(failed);
      ++neither;
    }
  }
  CHECK(kept > 4);
  MESSAGE(kept, " kept, ", replaced, " replaced, ", neither, " without ", whole);
}

TEST_CASE("the results of a run, where a call to the file system fails") {
  const Folder folder;
  const fs::path file = folder.path / "case.yaml", results = folder.path / "results";
  std::ofstream(file) << "mesh: {box: {cells: [30, 30]}}\nequation: {source: 1}\nboundary: {left: {value: 0}}\n"
                         "solver: {device: cpu, operator: csr, preconditioner: jacobi}\n";
  setenv("XDG_CACHE_HOME", (folder.path / "cache").c_str(), 1);  // cached data that a run would measure
  solver::renewed_copy_bandwidth(femcg::operators::Device::host, true);
  for (const int error : {ENOSPC, EIO}) {
    failure = error;
    fail_one_after_the_other(results, "result.json", [&](bool anew) {
      solver::Case made = solver::read_case(file, {{"equation.source", anew ? "2" : "1"}});
      made.output.directory = results;
      solver::run(made, {.quiet = true}, [] { return false; });
    });
  }
}

TEST_CASE("the results of a comparison, where a call to the file system fails") {
  const Folder folder;
  solver::MatrixChoice choice;
  choice.file = folder.path / "matrix.mtx";
  choice.directory = folder.path / "results";
  std::ofstream(choice.file) << "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 2 2\n3 3 2\n2 1 -1\n";
  failure = ENOSPC;
  fail_one_after_the_other(choice.directory, "compare.json", [&](bool anew) {
    choice.compare = solver::read_compare_choice({{"compare.operators", "[csr]"},
                                                  {"compare.devices", "[cpu]"},
                                                  {"compare.iterations", anew ? "2" : "1"},
                                                  {"compare.repetitions", "1"}});
    solver::compare_matrix(choice, std::nullopt, {.quiet = true}, [] { return false; });
  });
}

}  // namespace

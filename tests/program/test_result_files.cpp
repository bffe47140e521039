// Files of a results folder: complete, consistent, and without others, whatever happens.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "mesh/base/atomic_file.hpp"
#include "tests/program.hpp"

namespace fs = std::filesystem;
using namespace femcg::tests;
using femcg::mesh::FileGroup;
using femcg::mesh::prepare_for_files;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("femcg_test_result_files_{}", ::getpid());
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(path)) found.insert(entry.path().filename().string());
    return fmt::format("{}", fmt::join(found, " "));
  }
};

void put(const fs::path& folder, const std::string& text) {
  FileGroup files(folder);
  for (const char* name : {"first", "second", "last"}) files.add(name, text);
  files.put_in_place();
}

/// A process that has written one file of a group, and waits.
pid_t writer_in(const fs::path& folder) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileGroup files(folder);
    files.add("first", std::string(100000, 'x'));
    const char byte = 0;
    if (::write(ready[1], &byte, 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

void end_with_sigkill(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

const std::string run = "$femcg run $cases/minimal.yaml --set equation.source=1 --set output.directory=made ";
const std::string compare =
    "$femcg compare $cases/minimal.yaml --set equation.source=1 --operators csr --iterations 2 --repetitions 1 "
    "--quiet --output made ";
/// Checksums of all files, before and after: prints "same" if no file has changed or is new.
const std::string keep = "\n(cd made && find . -type f | sort | xargs md5sum) > before; ";
const std::string check_kept =
    "; status=$?; (cd made && find . -type f | sort | xargs md5sum) | diff before - > changes && echo same; exit "
    "$status";

}  // namespace

TEST_CASE("a group replaces all files of an earlier one, or none") {
  const Folder folder;
  const auto is_all = [&](const std::string& text) {
    for (const char* name : {"first", "second", "last"}) CHECK(contents(folder.path / name) == text);
  };
  put(folder.path, "earlier");
  is_all("earlier");
  SUBCASE("replaced") {
    put(folder.path, "later");
    is_all("later");
    CHECK(folder.names() == "first last second");
  }
  SUBCASE("the writer gives up at the last file") {
    FileGroup files(folder.path);
    files.add("first", "later");
    files.add("second", "later");
    CHECK_THROWS_AS(files.add("last", [](std::ostream&) { throw std::runtime_error("enough"); }), std::runtime_error);
    is_all("earlier");
  }
  SUBCASE("never put in place") {
    {
      FileGroup files(folder.path);
      files.add("last", "later");
    }
    is_all("earlier");
    CHECK(folder.names() == "first last second");
  }
  SUBCASE("a file that it leaves out goes with the others") {
    FileGroup files(folder.path);
    files.leave_out("second");
    files.add("first", "later");
    files.add("last", "later");
    CHECK(folder.names().find("second") != std::string::npos);
    files.put_in_place();
    CHECK(folder.names() == "first last");
  }
  SUBCASE("where one cannot be replaced, the mixture has no last file") {
    {
      FileGroup files(folder.path);
      for (const char* name : {"first", "second", "last"}) files.add(name, "later");
      fs::remove(folder.path / "second");
      fs::create_directory(folder.path / "second");
      CHECK_THROWS_AS(files.put_in_place(), std::system_error);
    }
    CHECK(folder.names() == "first second");
  }
  SUBCASE("the last file cannot be replaced") {
    {
      FileGroup files(folder.path);
      for (const char* name : {"first", "second", "last"}) files.add(name, "later");
      fs::remove(folder.path / "last");
      fs::create_directory(folder.path / "last");
      CHECK_THROWS_AS(files.put_in_place(), std::system_error);
    }
    CHECK(contents(folder.path / "first") == "earlier");
    CHECK(contents(folder.path / "second") == "earlier");
  }
}

TEST_CASE("temporaries of processes that are gone are removed, of others they stay") {
  const Folder folder;
  const std::vector<std::string> names{"first"};
  const pid_t child = writer_in(folder.path);
  prepare_for_files(folder.path, names);
  const std::string temporary = folder.names();
  INFO(temporary);
  CHECK(temporary.ends_with(fmt::format("-{}-0.part", child)));
  end_with_sigkill(child);
  CHECK(folder.names() == temporary);
  SUBCASE("its process is gone") {}
  SUBCASE("its number is another's: this one's") {
    std::string reused = temporary;
    reused.replace(reused.find(fmt::format("-{}-", child)), std::string::npos, fmt::format("-{}-0.part", ::getpid()));
    fs::rename(folder.path / temporary, folder.path / reused);
  }
  SUBCASE("old, of another machine") {
    const fs::path elsewhere = folder.path / ".femcg-another.machine-1-0.part";
    fs::rename(folder.path / temporary, elsewhere);
    prepare_for_files(folder.path, names);
    CHECK(fs::exists(elsewhere));  // its writer may be alive
    fs::last_write_time(elsewhere, fs::file_time_type::clock::now() - std::chrono::hours(25));
  }
  prepare_for_files(folder.path, names);
  CHECK(folder.names().empty());
  for (const char* name :
       {".femcg-.part", ".femcg-host-1.part", ".femcg-host-x-1.part", "femcg-host-1-1.part", ".part"})
    std::ofstream(folder.path / name) << "a user's";
  for (const auto& entry : fs::directory_iterator(folder.path))
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(25));
  prepare_for_files(folder.path, names);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 5);
}

TEST_CASE("a file behind a link is replaced there, and nothing is left beside it") {
  const Folder folder;
  const fs::path elsewhere = folder.path / "elsewhere";
  fs::create_directory(elsewhere);
  std::ofstream(elsewhere / "first") << "earlier";
  fs::create_symlink("elsewhere/first", folder.path / "first");
  end_with_sigkill(writer_in(folder.path));
  CHECK(std::distance(fs::directory_iterator(elsewhere), fs::directory_iterator()) == 2);
  prepare_for_files(folder.path, {"first"});
  CHECK(std::distance(fs::directory_iterator(elsewhere), fs::directory_iterator()) == 1);
  put(folder.path, "later");
  CHECK(fs::is_symlink(folder.path / "first"));
  CHECK(contents(elsewhere / "first") == "later");
}

TEST_CASE("report removes what is left beside its page") {
  const std::string left = "touch .femcg-$(hostname | tr -c 'A-Za-z0-9._\\n' _)-999999999-0.part; ";
  const Result result =
      shell(compare + "2> note\n" + left +
            "cp made/compare.json . && $femcg report compare.json --quiet --output page.html && ls -A");
  CHECK_FALSE(contains(result.out, ".part"));
}

TEST_CASE("a disk that becomes full leaves the earlier results") {
  // 8 KiB per file: enough for all except the solution, compare.json and the page.
  const std::string full = keep + "ulimit -f 8; ";
  const Result of_run = shell(run + "--quiet" + full + run + "--set mesh.box.cells=[60,60] --quiet" + check_kept);
  CHECK(of_run.status == 3);
  CHECK(of_run.out == "same\n");
  CHECK(of_run.err == "femcg: cannot write made/solution.vtu: File too large\n");
  const std::string all = std::string(compare).replace(compare.find("csr"), 3, "csr,ellpack,sell,jad,hyb,eigen");
  const Result of_compare = shell(all + full + all + check_kept);
  INFO(of_compare.err);
  CHECK(of_compare.status == 3);
  CHECK(contains(of_compare.out, "same\n"));
  CHECK(contains(of_compare.err, "femcg: cannot write made/"));
  CHECK(contains(of_compare.err, "File too large\n"));
}

TEST_CASE("a directory in the place of a result is refused before any work, and stays") {
  for (const char* name :
       {"case.yaml", "residuals.csv", "solution.vtu", "result.html", "solution.png", "result.json"}) {
    const Result result =
        shell("mkdir -p made/" + std::string(name) + "; " + run + "; status=$?; ls -A made; exit $status");
    CHECK(result.status == 3);
    CHECK(result.out == std::string(name) + "\n");
    CHECK(result.err == fmt::format("femcg: cannot write made/{}: Is a directory\n", name));
  }
  for (const char* name : {"compare.json", "compare.csv", "report.html"}) {
    const std::string in_place = fmt::format("rm made/{0}; mkdir made/{0}", name);
    const Result result = shell(compare + "2> note" + keep + in_place + keep + compare + check_kept);
    INFO(name, " -> ", result.err);
    CHECK(result.status == 3);
    CHECK(result.out == "same\n");
    CHECK(contains(result.err, fmt::format("femcg: cannot write made/{}: Is a directory\n", name)));
  }
}

TEST_CASE("a folder without permission to write is refused and stays as it is" * doctest::skip(::geteuid() == 0)) {
  const Result result = shell(run + "--quiet; chmod a-w made" + keep + run +
                              check_kept.substr(0, check_kept.find("exit")) + "chmod u+w made; exit $status");
  CHECK(result.status == 3);
  CHECK(result.out == "same\n");
  CHECK(lines(result.err) == 1);
  CHECK(contains(result.err, "Permission denied"));
}

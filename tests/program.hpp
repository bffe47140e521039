#pragma once

// The built program as seen by its user: output and exit status.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "solver/records/record.hpp"
#include "solver/report/report_page.hpp"
#include "tests/locations.hpp"

namespace femcg::tests {

/// Skips cases about a missing GPU on a host that has one. CUDA cannot be queried when cases are registered, before
/// main().
inline doctest::test_suite needs_no_gpu() { return doctest::test_suite("without a GPU"); }

struct Result {
  int status;
  std::string out, err;
};

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Line of the report page in the list of a run's files.
inline const std::string result_page = solver::has_report_page() ? "result.html\n" : "";

/// Text without notes about a busy machine, as one that runs tests may be, and about a build without pages.
inline std::string without_note_of_others(std::string text) {
  for (const std::string& note :
       {"note: " + std::string(solver::refused_time) + "\n",
        "note: no result.html was written: " + std::string(solver::report_page_stub()) + "\n"})
    for (std::size_t at = text.find(note); at != std::string::npos; at = text.find(note)) text.erase(at, note.size());
  return text;
}

/// Runs shell lines in a new folder; $femcg and $save_by_gmsh are programs, $cases and $matrices the tests' folders.
inline Result shell(const std::string& command) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("femcg_test_program_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string of_tests = (source_directory() / "tests").string();
  std::ofstream(folder / "command") << "femcg='" << program().string() << "'\ncases='" << of_tests
                                    << "/cases/'\nmatrices='" << of_tests << "/matrices/'\nsave_by_gmsh='"
                                    << save_by_gmsh().string() << "'\n"
                                    << command << "\n";
  const std::string line = "cd '" + folder.string() + "' && /bin/bash ./command > out 2> err < /dev/null";
  const int raw = std::system(line.c_str());
  Result result{WIFEXITED(raw) ? WEXITSTATUS(raw) : 1000, contents(folder / "out"),
                without_note_of_others(contents(folder / "err"))};
  fs::remove_all(folder);
  return result;
}

/// Shell lines that limit the program's memory, if it can run with the limit (not with an address sanitizer).
inline const std::string little_memory =
    "(ulimit -v 4000000; $femcg --version) > memory 2>&1 && ulimit -v 4000000; rm memory\n";

/// Shell lines that write a file.
inline std::string file(const std::string& name, const std::string& text) {
  return "cat > " + name + " <<'end of file'\n" + text + "end of file\n";
}

inline Result program_run(const std::string& arguments) { return shell("$femcg " + arguments); }

inline long lines(const std::string& text) { return std::ranges::count(text, '\n'); }
inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Checks for status 2, no standard output, and one line on standard error that contains `part`. `before`: shell lines.
inline void check_refused(const std::string& arguments, const std::string& part, const std::string& before = "") {
  const Result result = shell(before + "\n$femcg " + arguments);
  INFO(before, " ", arguments, " -> ", result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(lines(result.err) == 1);
  CHECK(contains(result.err, part));
}

}  // namespace femcg::tests

// Absurd contents of a case file or a value: refused with a sentence, quickly, and with little memory.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/case/sweep.hpp"
#include "solver/messages/error.hpp"
#include "tests/program.hpp"

namespace fs = std::filesystem;
using namespace femcg::solver;
using femcg::tests::check_refused;
using femcg::tests::contains;

namespace {

const std::string mesh_line = "mesh: {box: {cells: [4, 4]}}\n";

/// Problems of a case with a valid mesh on line 1 and the given lines from line 2, without the file's name.
std::vector<std::string> problems(const std::string& lines, const std::vector<Override>& overrides = {}) {
  const fs::path file = fs::temp_directory_path() / ("femcg_test_case_limits_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(file, std::ios::binary) << mesh_line << lines;
  std::vector<std::string> sentences;
  try {
    read_case(file, overrides);
  } catch (const InputError& error) {
    sentences = error.sentences();
  }
  fs::remove(file);
  for (std::string& sentence : sentences)
    if (sentence.starts_with(file.string())) sentence.erase(0, file.string().size());
  return sentences;
}

/// The only problem.
std::string problem(const std::string& lines, const std::vector<Override>& overrides = {}) {
  const std::vector<std::string> all = problems(lines, overrides);
  REQUIRE(all.size() == 1);
  return all.front();
}

double seconds(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("what stands behind the end of a value is named") {
  const std::string little = femcg::tests::little_memory;  // endless empty documents would exceed it
  check_refused("check $cases/minimal.yaml --set 'mesh.box.cells=[4,4],'",
                "--set mesh.box.cells: ',' stands behind the end of the value", little);
  check_refused("matrix $matrices/laplace.mtx --operators '[csr],'",
                "--operators: ',' stands behind the end of the value", little);
  check_refused("check c.yaml",
                "c.yaml:1:29: this is not valid YAML: ',' stands where a key or the end of the map is expected",
                little + "echo 'mesh: {box: {cells: [4, 4]}},' > c.yaml");
  check_refused("check c.yaml", "c.yaml:1:31: ',' stands behind the end of the value",
                little + "echo '{mesh: {box: {cells: [4, 4]}}},' > c.yaml");
  CHECK(problem("", {{"degree", "1, 2"}}) == "--set degree: degree must be a whole number from 1 to 4, not '1, 2'");
  for (const char* text : {",", "[1],,", "{a: 1},", "]", "}", "[1]]", "{a: 1}}", "[1] ]", "'a',", "[1]\n,\n"})
    CHECK_MESSAGE(problem("", {{"title", text}}).starts_with("--set title: "), text);
  CHECK(problem("", {{"title", "a\n--- b"}}) ==
        "--set title: a second document begins; a case is one document, and a value one value");
}

TEST_CASE("files and values have a size, values a depth") {
  CHECK(contains(problem("title: " + std::string(1'000'000, 'a') + "\n"), ": this is too large for a case file (1 MB"));
  CHECK(problems("title: " + std::string(900'000, 'a') + "\n").empty());
  CHECK(problem("", {{"title", std::string(64'001, 'a')}}) ==
        "--set title: the value has 64001 characters, and a value has 64000 at most");
  CHECK(problem("", {{"title", std::string(64'001, 'a'), "--output", true}}).starts_with("--output: the value has"));
  CHECK(problems("", {{"title", std::string(64'000, 'a')}}).empty());
  std::string key = "title";
  for (int i = 0; i < 30'000; ++i) key += ".a";
  CHECK(contains(problem("", {{key, "1"}}), ": the key has 30001 parts, and a key has 50 at most"));
  for (const char* piece :
       {"[", "{a: ", "- ", "? ", "a: [", "[a: ", "&a ", "!a ", "&a [", "*a ", "\"", "'", "{", "{{", "[[],", "a: b: "})
    for (const int count : {61, 601, 12'001}) {
      std::string text;
      for (int i = 0; i < count; ++i) text += piece;
      CHECK_MESSAGE(problems("", {{"title", text}}).size() == 1, count << " times " << piece);
      CHECK_MESSAGE(problems("title: " + text + "\n").size() == 1, count << " times " << piece);
    }
}

TEST_CASE("an alias repeats what it names within the same bounds") {
  const auto deep = [](int count) { return std::string(count, '[') + "1" + std::string(count, ']'); };
  CHECK(contains(problem("title: &a " + deep(60) + "\nexact: " + std::string(60, '[') + "*a" + std::string(60, ']')),
                 ":3:68: the values are nested too deeply"));
  CHECK(contains(problem("title: " + deep(101)), "nested too deeply"));
  CHECK(problem("title: " + deep(90)) == ":2:8: title must be a text, not a list");
}

TEST_CASE("a hundred thousand keys of one map take a second, not minutes") {
  std::string keys = "output:\n  probes:\n";
  for (int i = 0; i < 50'000; ++i) keys += "    p" + std::to_string(i) + ": 0\n";
  std::vector<std::string> all;
  CHECK(seconds([&] { all = problems(keys); }) < 8);
  REQUIRE(all.size() == 101);
  CHECK(all.front().starts_with(":4:9: output.probes.p0 must be a point"));
  CHECK(all.back() == "and 49900 more");
  keys = "output: {probes: {";
  for (int i = 0; i < 100'000; ++i) keys += std::to_string(i) + ": ,";
  CHECK(seconds([&] { all = problems(keys + "}}\n"); }) < 8);
  CHECK(all.size() == 101);
}

TEST_CASE("a sweep of too many points is refused before any is made") {
  const auto expand = [](const std::string& sweep) {
    const fs::path file = fs::temp_directory_path() / ("femcg_test_sweep_" + std::to_string(::getpid()) + ".yaml");
    std::ofstream(file) << mesh_line << "compare: {operators: [csr], sweep: " << sweep << "}\n";
    std::string sentence;
    try {
      const auto points = expand_sweep(file, {});
      for (const SweepPoint& point : points) expand_operators(point.resolved.compare);
    } catch (const InputError& error) {
      sentence = error.what();
    }
    fs::remove(file);
    return sentence;
  };
  std::string many = "[1";
  for (int i = 0; i < 300; ++i) many += ", 1";
  many += "]";
  CHECK(expand("{degree: [1, 2], C: [4, 8]}").find("unknown") == std::string::npos);
  CHECK(contains(expand("{degree: " + many + ", refine: " + many + ", quadrature: " + many + "}"),
                 ":2:37: the sweep has 27270901 points; 10000 are the most"));
}

TEST_CASE("values and expressions are called by their key and by what they are") {
  CHECK(problem("equation: {source: sni(x)}\n").starts_with(":2:20: equation.source: in the expression 'sni(x)'"));
  CHECK(problem("boundary: {left: {value: 1/0}}\n") == ":2:26: boundary.left.value: 1/0 is not finite (inf)");
  CHECK(problem("equation: {diffusion: {box: x y}}\n").starts_with(":2:29: equation.diffusion.box: in the expression"));
  CHECK(problem("", {{"equation", "{source: x y}"}}).starts_with("--set equation: equation.source: in the expression"));
  CHECK(problem("", {{"equation.source", "x y"}}).starts_with("--set equation.source: in the expression"));
  CHECK(problem("degree: .nan\n") == ":2:9: degree must be a whole number from 1 to 4, not '.nan' (not a number)");
  CHECK(problem("solver: {tolerance: -.INF}\n") ==
        ":2:21: solver.tolerance must be a number above 0 and below 1, not '-.INF' (infinity)");
  CHECK(contains(problem("exact: .NaN\n"), "'.NaN' is not a number, and a value must be finite, at character 1"));
  CHECK(contains(problem("exact: 1 + inf\n"), "'inf' is infinity, and a value must be finite, at character 5"));
}

TEST_CASE("an expression that YAML takes apart is said to need quotes") {
  const std::string hint = "(an expression with '?' and ':' needs quotes)";
  CHECK(contains(problem("equation:\n  source: x<0.5 ? 0 : 1\n"), hint));
  CHECK(problem("equation:\n  source: x<0.5 ? 0 : 1\n").starts_with(":3:21: "));
  CHECK(contains(problem("equation: {source: x<0.5 ? 0 : 1}\n"), hint));
  CHECK(contains(problem("exact: [x<0.5 ? 0 : 1, 2]\n"), hint));
  CHECK(contains(problem("", {{"exact", "x<0.5 ? 0 : 1"}}), hint));
  CHECK_FALSE(contains(problem("title: a: b\n"), hint));
  CHECK(problems("equation: {source: \"x<0.5 ? 0 : 1\"}\n").empty());
}

TEST_CASE("line ends of every kind have their line and column, or are refused") {
  CHECK(problem("title: a\r\rdegree: 7\r").starts_with(":4:9: degree must be"));
  CHECK(problem("title: a\r\n\r\ndegree: 7\r\n").starts_with(":4:9: degree must be"));
  CHECK(contains(problem("exact: x<0.5 ? 0 : 1\r"), "needs quotes"));
  CHECK(problem("title: a\u2028degree: 7\n") ==
        ":2:9: the line separator U+2028 is no line end in YAML; write plain line ends (LF)");
  CHECK(problem("\u0085degree: 7\n").starts_with(":2:1: the line separator U+0085"));
}

// The table of keys compared with the reader: the reader uses all its keys, with the same defaults.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "solver/case/case.hpp"
#include "solver/case/case_keys.hpp"
#include "solver/messages/error.hpp"
#include "tests/locations.hpp"

namespace fs = std::filesystem;
using namespace femcg::solver;

namespace {

/// A case of a box or, if the key requires it, of a file; its group `left` has a condition of the key's kind.
std::string case_for(const std::string& path) {
  const bool of_file = path.starts_with("mesh.") && !path.starts_with("mesh.box");
  const fs::path file = femcg::tests::source_directory() / "cases/meshes/heat_sink.step";
  const std::string condition = path.ends_with(".transfer") || path.ends_with(".ambient") ? "transfer: 1, ambient: 0"
                                : path.ends_with(".flux")                                 ? "flux: 1"
                                                                                          : "value: 1";
  return fmt::format("mesh: {}\nboundary: {{left: {{{}}}}}\n",
                     of_file ? "{file: " + file.string() + "}" : "{box: {cells: [4, 4]}}", condition);
}

/// Messages about the case if a key has this value; empty if there are none.
std::string sentences(const std::string& path, const std::string& value) {
  const fs::path file = fs::temp_directory_path() / fmt::format("femcg_test_case_keys_{}.yaml", ::getpid());
  std::ofstream(file) << case_for(path);
  std::string all;
  try {
    read_case(file, {{path, value}});
  } catch (const InputError& error) {
    for (const std::string& sentence : error.sentences()) all += sentence + "\n";
  }
  fs::remove(file);
  return all;
}

/// boundary..value becomes boundary.left.value.
std::string with_names(std::string path) {
  for (std::size_t at = path.find(".."); at != std::string::npos; at = path.find("..")) path.replace(at, 2, ".left.");
  return path;
}

std::string resolved(const std::vector<Override>& overrides) {
  const fs::path file = fs::temp_directory_path() / fmt::format("femcg_test_case_keys_{}.yaml", ::getpid());
  std::ofstream(file) << case_for("");
  std::string text = to_yaml(read_case(file, overrides));
  fs::remove(file);
  return text;
}

}  // namespace

TEST_CASE("the reader asks for every key of the table") {
  CHECK(all_case_keys().size() > 40);
  for (const auto& [path, key] : all_case_keys()) {
    const std::string named = with_names(path), all = sentences(named, "{'-': []}");
    CHECK_MESSAGE(all.find(named) != std::string::npos, named, ": ", all);
    CHECK_MESSAGE(all.find(fmt::format("unknown key '{}'", named)) == std::string::npos, named, ": ", all);
  }
}

TEST_CASE("a default of the table, given, changes nothing") {
  for (const auto& [path, key] : all_case_keys())
    if (!key->default_value.empty() && (!path.starts_with("mesh.") || path.starts_with("mesh.box"))) {
      INFO(path);
      CHECK(resolved({{path, std::string(key->default_value)}}) == resolved({}));
    }
}

TEST_CASE("numbers and words beyond the table are refused, those of its ends are taken") {
  for (const auto& [path, key] : all_case_keys()) {
    const std::string named = with_names(path);
    INFO(named);
    if (key->kind == ValueKind::word)
      for (const std::string& word : key->words) CHECK(sentences(named, word).find(" must be ") == std::string::npos);
    if (key->kind != ValueKind::whole || path == "quadrature" || path == "mesh.box.dofs") continue;
    for (const double good : {key->rule.least, key->rule.largest})
      CHECK(sentences(named, fmt::format("{}", static_cast<std::int64_t>(good))).find("whole number") ==
            std::string::npos);
    for (const double wrong : {key->rule.least - 1, key->rule.largest + 1})
      CHECK(sentences(named, fmt::format("{}", static_cast<std::int64_t>(wrong))).find(named + " must be a whole") !=
            std::string::npos);
  }
}

TEST_CASE("the documentation has every key of the table") {
  std::ifstream stream(femcg::tests::source_directory() / "cases/case_file.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const auto& [path, key] : all_case_keys())
    CHECK_MESSAGE(text.find(std::string(key->name) + ":") != std::string::npos, path, " is not in cases/case_file.md");
}

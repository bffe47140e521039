// Keys and values of the command line, one KEY=VALUE per line, for a valid case: each is read or refused with
// sentences.
// Seeds: tests/fuzz/seeds/set/*
#include <sstream>
#include <vector>

#include "solver/case/case.hpp"
#include "solver/messages/error.hpp"
#include "tests/fuzz/input.hpp"

using namespace femcg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path file =
      tests::file_of("mesh: {box: {cells: [4, 4]}}\ncompare: {operators: [csr], sweep: {degree: [1, 2]}}\n", ".yaml");
  std::istringstream lines(tests::text_of(data, size));
  std::vector<solver::Override> overrides;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find('='); equals != std::string::npos)
      overrides.push_back({line.substr(0, equals), line.substr(equals + 1)});
  try {
    solver::to_yaml(solver::read_case(file, overrides));
  } catch (const solver::InputError& error) {
    for (const std::string& sentence : error.sentences()) tests::require_sentence(sentence);
  }
  try {
    solver::read_compare_choice(overrides);
  } catch (const solver::InputError& error) {
    for (const std::string& sentence : error.sentences()) tests::require_sentence(sentence);
  }
  return 0;
}
